package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// template returns a data directory with an empty, initialised server of p's version, born with
// these arguments, making it if there is none. The lock admits one process; the rename publishes
// only complete directories.
func template(ctx context.Context, p Program, born []string) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}

	parent := filepath.Join(cache, "template")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}

	final := filepath.Join(parent, fmt.Sprintf("%s-%s%s", p.Flavour, p.Version, strings.Join(born, "")))
	unlock, err := lockFile(final + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()

	if _, err := os.Stat(final); err == nil {
		return final, nil
	}

	making := "making-" + filepath.Base(final) + "-"
	if err := removeAll(filepath.Join(parent, making+"*")); err != nil { // of a process that was killed
		return "", err
	}

	work, err := os.MkdirTemp(parent, making)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)

	data := filepath.Join(work, "data")
	if err := initialise(ctx, p, work, data, born); err != nil {
		return "", err
	}

	// Every server of this template gets its own uuid at its first start.
	if err := os.Remove(filepath.Join(data, "auto.cnf")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}

	return final, os.Rename(data, final)
}

// initialise fills an empty data directory. mariadb-install-db makes root for 127.0.0.1 by itself;
// MySQL makes root@localhost only, which does not match a TCP connection when names are not
// resolved.
func initialise(ctx context.Context, p Program, work, data string, born []string) error {
	var cmd *exec.Cmd
	switch p.Flavour {
	case MariaDB:
		install, err := beside(p.Path, "mariadb-install-db", "mysql_install_db")
		if err != nil {
			return err
		}

		cmd = exec.CommandContext(ctx, install, append([]string{
			"--no-defaults", "--datadir=" + data,
			"--auth-root-authentication-method=normal", "--skip-test-db",
			"--skip-name-resolve", "--force", // a container may not know its own name
		}, asUser()...)...)
	case MySQL:
		script := filepath.Join(work, "init.sql")
		if err := os.WriteFile(script, []byte(grantRoot), 0o600); err != nil {
			return err
		}

		cmd = exec.CommandContext(ctx, p.Path, append([]string{
			"--no-defaults", "--initialize-insecure",
			"--datadir=" + data, "--init-file=" + script,
		}, append(asUser(), born...)...)...)
	}

	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initialise %s %s with %s: %w\n%s",
			p.Flavour, p.Version, cmd.Path, err, tail(string(out), 15))
	}

	return nil
}

const grantRoot = `CREATE USER IF NOT EXISTS root@'127.0.0.1';
GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;
GRANT PROXY ON ''@'' TO root@'127.0.0.1' WITH GRANT OPTION;
`

// asUser is for servers that refuse to run as root unless told to.
func asUser() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

// beside finds a companion of the server: in the PATH, or in the bin folder next to its own.
func beside(server string, names ...string) (string, error) {
	dir := filepath.Dir(server)
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		for _, folder := range []string{dir, filepath.Join(dir, "..", "bin"), filepath.Join(dir, "..", "scripts")} {
			if path := filepath.Join(folder, name); isFile(path) {
				return path, nil
			}
		}
	}
	return "",
		fmt.Errorf("%s is installed without %s, which makes its data directory: install the server's "+
			"package completely", server, names[0])
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// removeAll removes what matches a pattern.
func removeAll(pattern string) error {
	found, err := filepath.Glob(pattern)
	for _, path := range found {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return func() { _ = f.Close() }, nil // closing releases the lock
}

// copyTree copies a data directory. File modes matter: servers refuse keys that others may read.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}

		target := filepath.Join(to, name)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o700)
		case entry.Type().IsRegular():
			return copyFile(path, target)
		default:
			return nil // sockets and links of a server that is gone
		}
	})
}

func copyFile(from, to string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()

	info, err := src.Stat()
	if err != nil {
		return err
	}

	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()

	return copySparsely(dst, src, info.Size())
}

// copySparsely leaves holes where there are only zeros: most of a fresh server's logs, which nobody
// need write to the disk for each server that starts.
func copySparsely(dst, src *os.File, size int64) error {
	block := make([]byte, 64<<10)
	zeros := make([]byte, len(block))
	for {
		n, err := io.ReadFull(src, block)
		if n > 0 {
			if err := putBlock(dst, block[:n], zeros[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return dst.Truncate(size) // which also makes a hole at the end
		}
		if err != nil {
			return err
		}
	}
}

func putBlock(dst *os.File, block, zeros []byte) error {
	if bytes.Equal(block, zeros) {
		_, err := dst.Seek(int64(len(block)), io.SeekCurrent)
		return err
	}
	_, err := dst.Write(block)
	return err
}
