package mysqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"sync"
	"testing"
)

// Premade opens a catalog in a schema that does not exist yet. The first of a test binary is made by
// open alone; those that follow find its tables in place, as the last migration left them, and open
// adds what is theirs. Most of what a catalog costs on MySQL is the ALTER TABLE of its migrations,
// and these have tests of their own.
func Premade(tb testing.TB, db *sql.DB, schema string, open func() error) {
	tb.Helper()
	conn, err := db.Conn(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }() // its current schema is ours now

	p := premade{tb: tb, conn: conn, schema: schema}
	var server string
	p.scan("SELECT CONCAT_WS(' ', @@version, @@collation_server, @@lower_case_table_names, @@sql_mode)", &server)

	statements, made := models.of(server, func() []string {
		if err := open(); err != nil {
			tb.Fatal(err)
		}
		return p.model()
	})
	if made {
		return
	}

	p.exec("CREATE DATABASE " + schema)
	p.exec(statements...)
	if err := open(); err != nil {
		tb.Fatal(err)
	}
}

// models are the statements that make a catalog, by the kind of server. They have to be the
// package's, like the servers themselves.
var models = modelsByServer{statements: map[string][]string{}}

type modelsByServer struct {
	mu         sync.Mutex
	statements map[string][]string
}

// of returns the model for a server, and whether it had to be made just now.
func (m *modelsByServer) of(server string, create func() []string) (statements []string, made bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.statements[server]; known != nil {
		return known, false
	}
	m.statements[server] = create()
	return m.statements[server], true
}

// premade is a catalog that is read or written.
type premade struct {
	tb     testing.TB
	conn   *sql.Conn
	schema string
}

// model returns the statements that make a schema like this one: tables, views, and the rows that
// migrations have written.
func (p premade) model() []string {
	p.tb.Helper()
	var tables, views []string
	for _, name := range p.names() {
		var kind, create string
		p.scan("SELECT TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = '"+p.schema+
			"' AND TABLE_NAME = '"+name+"'", &kind)
		if kind == "VIEW" {
			var ignored string
			p.scan("SHOW CREATE VIEW "+p.schema+"."+name, &ignored, &create, &ignored, &ignored)
			views = append(views, strings.ReplaceAll(create, "`"+p.schema+"`.", ""))
		} else {
			p.scan("SHOW CREATE TABLE "+p.schema+"."+name, &name, &create)
			tables = append(tables, create)
		}
	}

	var migrations string
	p.exec("SET SESSION group_concat_max_len = 1000000")
	p.scan("SELECT GROUP_CONCAT(CONCAT('(', number, ',', QUOTE(name), ',', QUOTE(checksum), ', UTC_TIMESTAMP(6), ', "+
		"QUOTE(applied_by), ')')) FROM "+p.schema+".migration", &migrations)

	return append(append(append([]string{"USE {schema}", "SET SESSION foreign_key_checks = OFF"}, tables...), views...),
		"INSERT INTO migration (number, name, checksum, applied_at, applied_by) VALUES "+migrations,
		"INSERT INTO pause (policy_id, reason, held_reason) VALUES (0, '', '')",
		"INSERT INTO generation (id) VALUES (1)")
}

func (p premade) names() (names []string) {
	p.tb.Helper()
	rows, err := p.conn.QueryContext(p.tb.Context(),
		"SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '"+p.schema+"' ORDER BY CREATE_TIME, 1")
	if err != nil {
		p.tb.Fatal(err)
	}
	defer rows.Close()

	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			p.tb.Fatal(err)
		}
		names = append(names, name)
	}

	if err := rows.Err(); err != nil {
		p.tb.Fatal(err)
	}

	return names
}

func (p premade) scan(query string, into ...any) {
	p.tb.Helper()
	if err := p.conn.QueryRowContext(p.tb.Context(), query).Scan(into...); err != nil {
		p.tb.Fatalf("%s: %v", query, err)
	}
}

func (p premade) exec(statements ...string) {
	p.tb.Helper()
	for _, s := range statements {
		s = strings.ReplaceAll(s, "{schema}", p.schema)
		if _, err := p.conn.ExecContext(context.WithoutCancel(p.tb.Context()), s); err != nil {
			p.tb.Fatalf("%s: %v", s, err)
		}
	}
}
