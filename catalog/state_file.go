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

// stateFile is what a proxy remembers about catalogs outside of them: the generation of each.
type stateFile struct {
	name string // empty: nothing is kept

	mu          sync.Mutex
	generations map[string]uint64 // by catalog id
}

const stateFileName = "catalogs.json"

// openStateFile reads what is remembered in a directory; an empty path means that nothing is kept.
func openStateFile(dir string) (*stateFile, error) {
	f := &stateFile{generations: map[string]uint64{}}
	if dir == "" {
		return f, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return f, fmt.Errorf("state directory: %w", err)
	}

	f.name = filepath.Join(dir, stateFileName)
	text, err := os.ReadFile(f.name)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &f.generations)
	}
	if err != nil {
		return f, fmt.Errorf("state directory: read %s (remove it to forget all catalogs): %w", f.name, err)
	}

	return f, nil
}

// recall returns the generation a catalog is known to have reached.
func (f *stateFile) recall(catalog string) (generation uint64, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	generation, known = f.generations[catalog]
	return generation, known
}

// remember notes a generation that is committed, before anything relies on it.
func (f *stateFile) remember(catalog string, generation uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()

	if f.generations[catalog] >= generation {
		return nil
	}

	f.generations[catalog] = generation
	if f.name == "" {
		return nil
	}

	text, err := json.MarshalIndent(f.generations, "", "  ")
	if err != nil {
		return fmt.Errorf("remember generation: %w", err)
	}
	if err := replaceFile(f.name, append(text, '\n')); err != nil {
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
