package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

// server is the database that the tests are run against. When a test has wrecked it, it is
// replaced.
type server struct {
	flavour sandbox.Flavour
	sandbox *sandbox.Server
	db      *sql.DB
	globals map[string]string // the global variables as they were at first
}

// options are what the suites expect of a server; the rest of their configuration only saves
// memory.
func (s *server) options() []string {
	o := []string{
		"--skip-log-bin", "--skip-name-resolve=OFF", "--local-infile=1", "--log-bin-trust-function-creators=1",
		"--connect-timeout=60",
		"--max-connections=151", "--max-allowed-packet=16M", "--key-buffer-size=1M", "--sort-buffer-size=256K",
		"--max-heap-table-size=1M",
		"--secure-file-priv=", // tests read files of their suite, and write some
	}
	if s.flavour == sandbox.MariaDB {
		return append(o, "--character-set-server=latin1", "--performance-schema=ON", "--default-storage-engine=myisam",
			"--use-stat-tables=preferably", "--histogram-type=json_hb")
	}
	return append(o, "--explain-format=TRADITIONAL_STRICT")
}

// start starts a fresh server.
func (s *server) start(ctx context.Context) error {
	s.close()
	var err error
	if s.sandbox, err = sandbox.Start(ctx, sandbox.Config{Flavour: s.flavour, Args: s.options()}); err != nil {
		return err
	}

	c := s.sandbox.Config("")
	c.Params = map[string]string{"sql_mode": "''"}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return err
	}

	s.db = sql.OpenDB(connector)
	for _, q := range []string{
		"CREATE USER '" + service + "'@'%' IDENTIFIED BY '" + service + "'",
		"GRANT ALL ON *.* TO '" + service + "'@'%'",
		"CREATE DATABASE IF NOT EXISTS mtr",
		"CREATE PROCEDURE mtr.add_suppression(pattern TEXT) BEGIN END", // what is in a log does not matter here
	} {
		if _, err := s.db.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}

	s.globals, err = s.variables(ctx)
	return err
}

func (s *server) close() {
	if s.db != nil {
		s.db.Close()
		s.db = nil
	}
	if s.sandbox != nil {
		s.sandbox.Close()
		s.sandbox = nil
	}
}

func (s *server) variables(ctx context.Context) (map[string]string, error) {
	rows, err := s.db.QueryContext(ctx, "SHOW GLOBAL VARIABLES")
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	vars := make(map[string]string)
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		vars[name] = value
	}

	return vars, rows.Err()
}

// systemSchemas are left alone.
var systemSchemas = []string{"mysql", "information_schema", "performance_schema", "sys", "mtr", service}

// reset removes what a test has left: databases, accounts, connections, global variables.
func (s *server) reset(ctx context.Context) error {
	s.killOthers(ctx)
	if err := s.resetVariables(ctx); err != nil {
		return err
	}

	schemas, err := s.strings(ctx, "SELECT schema_name FROM information_schema.schemata")
	if err != nil {
		return err
	}

	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()

	statements := []string{"SET foreign_key_checks = 0"}
	for _, name := range schemas {
		if !slices.Contains(systemSchemas, name) {
			statements = append(statements, "DROP DATABASE `"+strings.ReplaceAll(name, "`", "``")+"`")
		}
	}

	users, err := s.strings(ctx,
		"SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user WHERE user NOT IN ('root', 'mariadb.sys', "+
			"'mysql.sys', 'mysql.session', 'mysql.infoschema', '"+service+"')")
	if err != nil {
		return err
	}

	for _, u := range users {
		statements = append(statements, "DROP USER "+u)
	}

	statements = append(statements, "SET foreign_key_checks = 1",
		"CREATE DATABASE test", "FLUSH PRIVILEGES", "FLUSH STATUS")
	for _, q := range statements {
		if _, err := conn.ExecContext(ctx, q); err != nil && !strings.HasPrefix(q, "DROP USER") {
			return fmt.Errorf("%s: %w", q, err)
		}
	}

	return nil
}

func (s *server) resetVariables(ctx context.Context) error {
	now, err := s.variables(ctx)
	if err != nil {
		return err
	}

	for name, was := range s.globals {
		if is, ok := now[name]; ok && is != was && !strings.HasPrefix(name, "gtid_") {
			value := was
			if strings.Trim(was, "-0123456789.") != "" || was == "" {
				value = "'" + strings.ReplaceAll(was, "'", "''") + "'"
			}
			_, _ = s.db.ExecContext(ctx, "SET GLOBAL "+name+" = "+value) // some cannot be set, not even by a test
		}
	}

	return nil
}

// killOthers ends the connections that a failed test has left, with their locks.
func (s *server) killOthers(ctx context.Context) {
	ids, err := s.strings(ctx,
		"SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = 'root' AND command = "+
			"'Sleep' AND time > 0")
	if err != nil {
		return
	}
	for _, id := range ids {
		_, _ = s.db.ExecContext(ctx, "KILL "+id) // it may have gone meanwhile
	}
}

func (s *server) strings(ctx context.Context, query string) ([]string, error) {
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	var out []string
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}

	return out, rows.Err()
}

// port is the port of an address.
func port(address string) string {
	_, p, _ := net.SplitHostPort(address)
	return p
}
