package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Memory is what a proxy remembers about catalogs outside of them: the generation of each. It is in
// one small file.
type Memory struct {
	file  string
	state *memoryState
}

type memoryState struct {
	mu          sync.Mutex
	generations map[string]uint64 // by catalog id
}

const memoryFile = "catalogs.json"

// openMemory reads a directory's memory; an empty path means that nothing is kept.
func openMemory(dir string) (Memory, error) {
	m := Memory{state: &memoryState{generations: map[string]uint64{}}}
	if dir == "" {
		return m, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return m, fmt.Errorf("state directory: %w", err)
	}

	m.file = filepath.Join(dir, memoryFile)
	text, err := os.ReadFile(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &m.state.generations)
	}
	if err != nil {
		return m, fmt.Errorf("state directory: read %s (remove it to forget all catalogs): %w", m.file, err)
	}

	return m, nil
}

// recall returns the generation a catalog is known to have reached.
func (m Memory) recall(catalog string) (generation uint64, known bool) {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	generation, known = m.state.generations[catalog]
	return generation, known
}

// remember notes a generation that is committed, before anything relies on it.
func (m Memory) remember(catalog string, generation uint64) error {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()

	if m.state.generations[catalog] >= generation {
		return nil
	}

	m.state.generations[catalog] = generation
	if m.file == "" {
		return nil
	}

	text, err := json.MarshalIndent(m.state.generations, "", "  ")
	if err != nil {
		return fmt.Errorf("remember generation: %w", err)
	}
	if err := replaceFile(m.file, append(text, '\n')); err != nil {
		return fmt.Errorf("remember generation: %w", err)
	}

	return nil
}

// replaceFile writes a file so that a crash leaves the old one or the new one.
func replaceFile(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
