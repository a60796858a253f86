package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// rootPassword is what root of a locked server logs in with. It stays with data that is kept, where only its owner can
// read it: a container takes a password only when it makes its data.
func rootPassword(dir string) (string, error) {
	path := filepath.Join(dir, "root.password")
	kept, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return string(kept), err
	}
	made := rand.Text()
	return made, os.WriteFile(path, []byte(made), 0o600)
}

// lock has the server give root the password before it listens: there is no moment without.
func (s *Server) lock() error {
	var err error
	if s.password, err = rootPassword(s.dir); err != nil {
		return err
	}
	script := filepath.Join(s.dir, "lock.sql")
	s.args = append([]string{"--init-file=" + script}, s.args...)
	return os.WriteFile(script, fmt.Appendf(nil, lockRoot, s.password), 0o600)
}

// lockRoot is one statement in each line, as servers read it. Nobody else can be root: the other names that a
// data directory has for it match no connection.
const lockRoot = `ALTER USER root@'localhost' IDENTIFIED BY '%[1]s';
ALTER USER root@'127.0.0.1' IDENTIFIED BY '%[1]s';
`
