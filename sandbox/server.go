package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Config says which server to start. The zero value means: whatever is installed, in a temporary
// directory, on a free port.
type Config struct {
	Flavour Flavour
	Dir     string   // keep the data here, also across starts; empty: a temporary directory, removed by Close
	Port    int      // 0: a free one
	Args    []string // further arguments of the server, after ours, so they win
	Locked  bool     // root has a password that only Config tells, because others use this machine, too
}

// Server is a running private server.
type Server struct {
	Program

	dir       string
	temporary bool
	port      int
	args      []string
	password  string // of root
	process   *process
}

// Start finds a server program, prepares its data and returns once the server answers queries.
func Start(ctx context.Context, c Config) (*Server, error) {
	want, err := c.flavour()
	if err != nil {
		return nil, err
	}

	program, err := Find(ctx, want)
	if err != nil {
		return nil, err
	}

	s := &Server{Program: program, dir: c.Dir, port: c.Port, args: c.Args}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	if c.Locked {
		if err := s.lock(); err != nil {
			return nil, errors.Join(err, s.remove())
		}
	}
	if err := s.boot(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}

	return s, nil
}

// flavour is the one that was asked for, or the one of the kept data: neither server reads the
// other's.
func (c Config) flavour() (Flavour, error) {
	if c.Dir == "" {
		return c.Flavour, nil
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "data", "ibdata1")); err != nil {
		return c.Flavour, nil //nolint:nilerr // no data yet
	}

	kept := MariaDB
	if _, err := os.Stat(filepath.Join(c.Dir, "data", "mysql.ibd")); err == nil {
		kept = MySQL
	}
	if c.Flavour != "" && c.Flavour != kept {
		return "", fmt.Errorf("%s holds the data of a %s, and a %s was asked for",
			c.Dir, Program{Flavour: kept}, Program{Flavour: c.Flavour})
	}

	return kept, nil
}

// prepare makes the directory, and fills it unless it holds data already.
func (s *Server) prepare(ctx context.Context) error {
	if s.dir == "" {
		dir, err := os.MkdirTemp(temporaryRoot(), "ttlproxy-")
		if err != nil {
			return err
		}
		s.dir, s.temporary = dir, true
	}

	abs, err := filepath.Abs(s.dir)
	if err != nil {
		return err
	}

	s.dir = abs
	for _, dir := range []string{"tmp", filesDir} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o700); err != nil {
			return err
		}
	}
	if _, err := os.Stat(s.data()); err == nil {
		return nil
	}

	from, err := template(ctx, s.Program, s.born())
	if err != nil {
		return errors.Join(err, s.remove())
	}
	if err := copyTemplate(from, s.data()); err != nil {
		return errors.Join(fmt.Errorf("copy the data template %s: %w", from, err), s.remove())
	}

	return nil
}

// copyTemplate copies a data directory as a whole or not at all: half of one would be taken for
// kept data.
func copyTemplate(from, to string) error {
	half := to + ".half"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	if err := copyTree(from, half); err != nil {
		return err
	}
	return os.Rename(half, to)
}

// temporaryRoot is the system's temporary folder, unless a socket in it would have too long a path
// for the kernel (108 bytes).
func temporaryRoot() string {
	if len(os.TempDir()) > 60 {
		return "/tmp"
	}
	return ""
}

// boot starts the process and waits until it answers. Somebody else can take a free port between
// its choice and its use, so a server that dies of that gets another one.
func (s *Server) boot(ctx context.Context) error {
	chosen := s.port != 0
	for attempt := 1; ; attempt++ {
		if !chosen {
			free, err := FreeAddress(ctx)
			if err != nil {
				return err
			}
			s.port = free.Port
		}

		err := s.bootOnce(ctx)
		if err == nil || chosen || attempt == 3 || !s.portWasTaken() {
			return err
		}
	}
}

func (s *Server) bootOnce(ctx context.Context) error {
	if err := os.Remove(s.logPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}

	var remove string
	if s.temporary {
		remove = s.dir
	}

	p, err := startProcess(s.Path, s.arguments(), s.logPath(), remove)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.Path, err)
	}

	s.process = p
	if err := s.awaitReady(ctx); err != nil {
		s.process.kill()
		return fmt.Errorf("start %s %s in %s: %w; the end of its log:\n%s", s.Flavour, s.Version, s.dir, err, s.Log())
	}

	return nil
}

// FreeAddress is one of this machine that nobody listens on. Whoever uses it must expect that
// somebody else has been faster.
func FreeAddress(ctx context.Context) (*net.TCPAddr, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr), nil
}

// startTimeout is generous: a loaded machine with a cold disk may need tens of seconds.
const startTimeout = 2 * time.Minute

func (s *Server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	config := s.Config("")
	config.Net, config.Addr = "unix", s.Socket()
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}

	for {
		if conn, err := connector.Connect(ctx); err == nil {
			return conn.Close()
		}
		select {
		case <-s.process.done:
			return errors.New("the server ended while starting")
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Addr is where the server listens for TCP connections.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Port is the port of Addr.
func (s *Server) Port() int { return s.port }

// Dir is the server's own directory: data, log and socket are in it.
func (s *Server) Dir() string { return s.dir }

// Socket is the path of the server's unix socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, "s.sock") }

// Config returns how root connects to a schema of the server by TCP.
func (s *Server) Config(schema string) *mysql.Config { return rootAt(s.Addr(), s.password, schema) }

func rootAt(address, password, schema string) *mysql.Config {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = "root", password, "tcp", address, schema
	c.Logger = &mysql.NopLogger{} // connection errors are returned; the driver's own log line would only repeat them
	return c
}

// Log returns the last lines of the server's error log.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	return tail(string(text), 25)
}

func (s *Server) data() string    { return filepath.Join(s.dir, "data") }
func (s *Server) logPath() string { return filepath.Join(s.dir, "server.log") }
