package main

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
)

// secret is a password that is read from its file at each login, so that changing it takes no
// restart.
type secret struct {
	option string // that names the file
	fixed  string // from the environment, where there is no file
	file   atomic.Pointer[string]
}

func newSecret(option, file, fixed string) *secret {
	s := &secret{option: option, fixed: fixed}
	s.file.Store(&file)
	return s
}

// follow makes it read, from now on, from where another one does.
func (s *secret) follow(other *secret) { s.file.Store(other.file.Load()) }

// read returns the present password.
func (s *secret) read() (string, error) {
	file := *s.file.Load()
	if file == "" {
		return s.fixed, nil
	}
	return readSecret(s.option, file)
}

// readSecret returns the first line of the file that an option names.
func readSecret(option, path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("--%s: %w", option, err)
	}

	line, _, _ := strings.Cut(string(data), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return "", fmt.Errorf("--%s: the first line of %s is empty", option, path)
	}
	return line, nil
}
