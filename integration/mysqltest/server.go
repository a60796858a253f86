package mysqltest

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

// Server is a server under test.
type Server struct {
	Flavour sandbox.Flavour
	Version string

	// Sandbox is the process behind the server: restart, kill, freeze. It is nil when an
	// environment variable named the server, and it must be left alone when the server is shared
	// (see [Start] for one's own).
	Sandbox *sandbox.Server

	config *mysql.Config
}

// MariaDB reports whether the server is one, for the few tests where the flavours differ.
func (s *Server) MariaDB() bool { return s.Flavour == sandbox.MariaDB }

// Addr is the server's host:port.
func (s *Server) Addr() string { return s.config.Addr }

// Config returns how an account with all rights connects to a schema ("" for none).
func (s *Server) Config(schema string) *mysql.Config {
	c := s.config.Clone()
	c.DBName = schema
	return c
}

// DSN is Config as a data source name.
func (s *Server) DSN(schema string) string { return s.Config(schema).FormatDSN() }

// Database creates a database for this test and returns its name. It is dropped when the test ends.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("t%d_%s", databases.Add(1), word(tb.Name()))
	db := s.Open(tb, "")
	run(tb, db, "DROP DATABASE IF EXISTS "+name)
	run(tb, db, "CREATE DATABASE "+name)
	tb.Cleanup(func() {
		if s.Sandbox == nil { // a sandbox disappears as a whole
			run(tb, db, "DROP DATABASE IF EXISTS "+name)
		}
	})
	return name
}

// DB opens a fresh database with all rights.
func (s *Server) DB(tb testing.TB) *sql.DB {
	tb.Helper()
	return s.Open(tb, s.Database(tb))
}

// Open opens a schema ("" for none) with all rights; it is closed when the test ends.
func (s *Server) Open(tb testing.TB, schema string) *sql.DB {
	tb.Helper()
	return Open(tb, s.Config(schema))
}

// Open opens a database for the length of a test.
func Open(tb testing.TB, config *mysql.Config) *sql.DB {
	tb.Helper()
	connector, err := mysql.NewConnector(config)
	if err != nil {
		tb.Fatal(err)
	}
	db := sql.OpenDB(connector)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// Account creates an account for the length of a test, whose name begins as told and is like no
// other's, with a password equal to that name, and returns how it connects. The grants are what
// follows GRANT, up to TO: "SELECT, INSERT ON app.*".
func (s *Server) Account(tb testing.TB, name string, grants ...string) *mysql.Config {
	tb.Helper()
	return s.AccountNamed(tb, fmt.Sprintf("%s_%d", name, accounts.Add(1)), grants...)
}

// AccountNamed is Account with a name that nothing is added to. Another test that uses it drops it.
func (s *Server) AccountNamed(tb testing.TB, name string, grants ...string) *mysql.Config {
	tb.Helper()
	db := s.Open(tb, "")
	user := fmt.Sprintf("'%s'@'%%'", name)
	run(tb, db, "DROP USER IF EXISTS "+user)
	run(tb, db, "CREATE USER "+user+" IDENTIFIED BY '"+name+"'")
	for _, grant := range grants {
		run(tb, db, "GRANT "+grant+" TO "+user)
	}
	tb.Cleanup(func() { run(tb, db, "DROP USER IF EXISTS "+user) })
	c := s.Config("")
	c.User, c.Passwd = name, name
	return c
}

// These number the databases and the accounts of this test binary, so that tests of any name never
// meet.
var databases, accounts atomic.Int64

// word turns a test's name into an identifier that needs no quotes and is short enough (64
// characters).
func word(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(name))
	return clean[:min(len(clean), 40)]
}

func run(tb testing.TB, db *sql.DB, statement string) {
	tb.Helper()
	ctx := context.Background() // also runs in Cleanup, when the test's own context has ended
	if err := Insist(ctx, db, statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// FromSandbox wraps a server that a test has started by itself.
func FromSandbox(s *sandbox.Server) *Server {
	return &Server{Flavour: s.Flavour, Version: s.Version, Sandbox: s, config: s.Config("")}
}

// Named returns a server that a data source name names, such as a member of a cluster.
func Named(tb testing.TB, flavour sandbox.Flavour, dsn string) *Server {
	tb.Helper()
	s, err := fromDSN(tb.Context(), flavour, dsn)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// fromDSN connects to a server that the environment names. Tests need its TCP address to put a
// proxy in front.
func fromDSN(ctx context.Context, flavour sandbox.Flavour, dsn string) (*Server, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		return nil, fmt.Errorf("a TCP address is needed: %w", err)
	}

	c.DBName = ""
	s := &Server{Flavour: flavour, config: c}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}

	db := sql.OpenDB(connector)
	defer db.Close()

	return s, db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&s.Version)
}
