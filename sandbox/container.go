package sandbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Container is a private server in a Docker container.
type Container struct {
	Program // of which Path is the image

	name, address string
	dir           string
	temporary     bool
	password      string // of root
	guard         io.WriteCloser
}

// images are what runs in a container. Both let root in from anywhere, with the password in a variable, on a
// port that only this machine can reach.
var images = map[Flavour]struct{ image, password string }{
	MariaDB: {"mariadb:10.11", "MARIADB_ROOT_PASSWORD"},
	MySQL:   {"mysql:8.4", "MYSQL_ROOT_PASSWORD"},
}

// HasDocker reports whether containers can be run here.
func HasDocker(ctx context.Context) bool {
	return exec.CommandContext(ctx, "docker", "info").Run() == nil
}

// StartContainer runs a server in Docker and returns once it answers. Docker's output that people
// may want to see, such as the progress of a download, goes to progress. Only Flavour (MariaDB if
// empty) and Dir of the configuration are used, and root always has a password.
func StartContainer(ctx context.Context, c Config, progress io.Writer) (*Container, error) {
	if c.Flavour == "" {
		c.Flavour = MariaDB
	}
	s := &Container{Program: Program{Flavour: c.Flavour, Path: images[c.Flavour].image}, dir: c.Dir}
	if err := s.start(ctx, progress); err != nil {
		return nil, errors.Join(err, s.Close()) //nolint:contextcheck // it has to end also when ctx has ended
	}
	return s, nil
}

func (s *Container) start(ctx context.Context, progress io.Writer) error {
	if err := s.fetch(ctx, progress); err != nil {
		return err
	}

	args := []string{"run", "--detach", "--rm", "--publish", "127.0.0.1::3306"}
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "ttlproxy-")
		if err != nil {
			return err
		}
		s.dir, s.temporary = dir, true
		s.name = filepath.Base(dir)
	} else {
		data, err := filepath.Abs(filepath.Join(s.dir, "container-data"))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(data, 0o700); err != nil {
			return err
		}

		args = append(args, "--volume", data+":/var/lib/mysql")
		s.name = fmt.Sprintf("ttlproxy-%d", os.Getpid())
	}

	variables, err := s.lock()
	if err != nil {
		return err
	}

	remove := ""
	if s.temporary {
		remove = s.dir
	}

	guard, err := startGuard(endContainer, s.name, remove)
	if err != nil {
		return err
	}

	s.guard = guard
	args = append(args, "--env-file", variables, "--name", s.name, s.Path,
		"--server-id=1", "--log-bin=binlog", "--binlog-format=ROW", "--max-connections=500", "--skip-name-resolve")
	if _, err := docker(ctx, args...); err != nil {
		return err
	}

	return s.awaitReady(ctx)
}

// lock gives root its password, in a file: others can see a command line.
func (s *Container) lock() (variables string, err error) {
	if s.password, err = rootPassword(s.dir); err != nil {
		return "", err
	}
	variables = filepath.Join(s.dir, "container.env")
	return variables, os.WriteFile(variables, []byte(images[s.Flavour].password+"="+s.password+"\n"), 0o600)
}

// endContainer removes the container $1 and the directory $2, if any.
const endContainer = `
docker rm --force --volumes "$1" >/dev/null 2>&1
if [ -n "$2" ]; then rm -rf -- "$2"; fi
`

// fetch gets the image unless it is there.
func (s *Container) fetch(ctx context.Context, progress io.Writer) error {
	if _, err := docker(ctx, "image", "inspect", s.Path); err == nil {
		return nil
	}
	pull := exec.CommandContext(ctx, "docker", "pull", s.Path)
	pull.Stdout, pull.Stderr = progress, progress
	if err := pull.Run(); err != nil {
		return fmt.Errorf("docker pull %s: %w", s.Path, err)
	}
	return nil
}

// docker runs a Docker command and returns its output.
func docker(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "docker", args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("docker %s: %w: %s", args[0], err, tail(string(exit.Stderr), 5))
	}
	return strings.TrimSpace(string(out)), err
}

// awaitReady waits for the server that listens: the one that prepares the data does not listen.
func (s *Container) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	published, err := docker(ctx, "port", s.name, "3306/tcp")
	if err != nil {
		return err
	}

	s.address, _, _ = strings.Cut(published, "\n")
	if _, _, err := net.SplitHostPort(s.address); err != nil {
		return fmt.Errorf("docker port: %w", err)
	}

	connector, err := mysql.NewConnector(s.Config(""))
	if err != nil {
		return err
	}

	db := sql.OpenDB(connector)
	defer db.Close()

	for {
		err := db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&s.Version)
		if err == nil {
			return nil
		}

		select {
		case <-ctx.Done():
			log, _ := docker(context.WithoutCancel(ctx), "logs", "--tail", "15", s.name)
			return fmt.Errorf("the server in the container does not answer: %w; the end of its log:\n%s", err, log)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Addr is where the server can be reached.
func (s *Container) Addr() string { return s.address }

// Dir is a directory that exists as long as the container, or the one that was named.
func (s *Container) Dir() string { return s.dir }

// Config returns how root connects to a schema of the server.
func (s *Container) Config(schema string) *mysql.Config { return rootAt(s.address, s.password, schema) }

// Close removes the container, and the directory if that was temporary. Data that is kept is shut
// down in an orderly way.
func (s *Container) Close() error {
	// also when the caller's has ended
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace) //nolint:forbidigo // see above
	defer cancel()

	if s.guard != nil {
		end := []string{"rm", "--force", "--volumes", s.name}
		if !s.temporary {
			end = []string{"stop", s.name} // it was started with --rm
		}
		if _, err := docker(ctx, end...); err != nil && !strings.Contains(err.Error(), "No such container") {
			return err // the guard tries again when we end
		}

		dismiss(s.guard)
		s.guard = nil
	}

	if !s.temporary {
		return nil
	}

	return os.RemoveAll(s.dir)
}
