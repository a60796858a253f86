package mysqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Premade opens a catalog, and returns the name of its schema, which ends with _c. The first of a test
// binary is made by open alone; those that follow find its tables in place, as the last migration
// left them, and open adds what is theirs. Most of what a catalog costs on MySQL is the ALTER TABLE of
// its migrations, and these have tests of their own. When the test has ended another one may have it.
func Premade(tb testing.TB, db *sql.DB, open func(schema string) error) (schema string) {
	tb.Helper()
	p := premade{tb: tb, owner: "CURRENT_USER"}
	defer p.connect(db)()

	kind := p.server()
	statements, made := models.of(kind, func() []string {
		p.schema = catalogs.name()
		p.must(open(p.schema))
		return p.read()
	})
	if !made {
		if c, ok := catalogs.take(p.place()); ok {
			p.schema, statements = c.schema, c.model
		} else {
			p.schema = catalogs.name()
			p.fill(statements)
			// MySQL shows what was made by a model in a slightly different way.
			statements, _ = models.of(kind+" filled", p.read)
		}
		p.must(open(p.schema))
	}

	tb.Cleanup(func() { p.giveBack(db, statements) })
	return p.schema
}

// Migrated is Premade, but that open makes all there is.
func Migrated(tb testing.TB, db *sql.DB, open func(schema string) error) (schema string) {
	tb.Helper()
	schema = catalogs.name()
	if err := open(schema); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { run(tb, db, "DROP DATABASE IF EXISTS "+schema) })
	return schema
}

// Prepared makes the tables of a catalog, for a program that will open it by an account. The model
// is made by migrate, in a schema of its own.
func Prepared(tb testing.TB, db *sql.DB, schema, account string, migrate func(schema string) error) {
	tb.Helper()
	p := premade{tb: tb, schema: schema, owner: account}
	defer p.connect(db)()

	statements, _ := models.of(p.server(), func() []string {
		model := p
		model.schema += "_model"
		model.must(migrate(model.schema))
		return model.read()
	})

	p.fill(statements)
}

// Unhurried has a catalog's settings say that no deletion slows down for what else happens on its
// server: neither a busy machine nor the tests beside it must decide how one goes.
func Unhurried(tb testing.TB, db *sql.DB, schema string) {
	tb.Helper()
	var rows []string
	for _, name := range Signals {
		rows = append(rows, "('"+name+"', '0', 'test', UTC_TIMESTAMP(6))")
	}
	run(tb, db, "INSERT INTO "+schema+".setting (name, value, changed_by, changed_at) VALUES "+
		strings.Join(rows, ", "))
}

// Signals are the settings of what is measured on a server that others use as well; 0 leaves it alone.
var Signals = []string{
	"ttl_throttle_threads_running", "ttl_throttle_history_length", "ttl_throttle_lock_waits",
	"ttl_throttle_lock_errors", "ttl_throttle_latency", "ttl_throttle_probe", "ttl_throttle_application",
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
	owner  string // of its views
}

// connect takes a connection, and returns what gives it up: its current schema is then ours.
func (p *premade) connect(db *sql.DB) (leave func()) {
	p.tb.Helper()
	conn, err := db.Conn(p.ctx())
	p.must(err)
	p.conn = conn
	return func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }
}

// server says what a model depends on.
func (p premade) server() (kind string) {
	p.tb.Helper()
	p.must(p.scan("SELECT CONCAT_WS(' ', @@version, @@collation_server, @@lower_case_table_names, @@sql_mode)", &kind))
	return kind
}

func (p premade) fill(statements []string) {
	p.tb.Helper()
	p.must(p.exec("CREATE DATABASE " + p.schema))
	p.must(p.exec(statements...))
}

func (p premade) must(err error) {
	p.tb.Helper()
	if err != nil {
		p.tb.Fatal(err)
	}
}

// definer is who made a view, and counter what the next row of a table gets.
var (
	definer = regexp.MustCompile("DEFINER=`[^`]*`@`[^`]*` ")
	counter = regexp.MustCompile(" AUTO_INCREMENT=[0-9]+")
)

// firstRows is how many statements at the end of a model write the first rows.
const firstRows = 3

// read is model, which must succeed.
func (p premade) read() []string {
	p.tb.Helper()
	model, err := p.model()
	p.must(err)
	return model
}

// model returns the statements that make a schema like this one: tables, views, and the rows that
// migrations have written.
func (p premade) model() ([]string, error) {
	model := []string{"USE {schema}", "SET SESSION foreign_key_checks = OFF"}
	for _, kind := range []string{"BASE TABLE", "VIEW"} {
		names, err := p.names(kind)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			create, err := p.create(kind, name)
			if err != nil {
				return nil, err
			}
			model = append(model, counter.ReplaceAllString(create, ""))
		}
	}

	var migrations string
	err := errors.Join(p.exec("SET SESSION group_concat_max_len = 1000000"),
		p.scan("SELECT GROUP_CONCAT(CONCAT('(', number, ',', QUOTE(name), ',', QUOTE(checksum), "+
			"', UTC_TIMESTAMP(6), ', QUOTE(applied_by), ')') ORDER BY number) FROM "+p.schema+".migration",
			&migrations))

	return append(model,
		"INSERT INTO migration (number, name, checksum, applied_at, applied_by) VALUES "+migrations,
		"INSERT INTO pause (policy_id, reason, held_reason) VALUES (0, '', '')",
		"INSERT INTO generation (id) VALUES (1)"), err
}

// create is the statement that makes a table or a view in the current schema.
func (p premade) create(kind, name string) (create string, err error) {
	var ignored string
	if kind != "VIEW" {
		err = p.scan("SHOW CREATE TABLE "+p.schema+"."+name, &ignored, &create)
		return create, err
	}
	err = p.scan("SHOW CREATE VIEW "+p.schema+"."+name, &ignored, &create, &ignored, &ignored)
	create = definer.ReplaceAllString(create, "DEFINER={owner} ")
	return strings.ReplaceAll(create, "`"+p.schema+"`.", ""), err
}

// names are those of the tables, or of the views, in the order in which they were made.
func (p premade) names(kind string) (names []string, err error) {
	rows, err := p.conn.QueryContext(p.ctx(), "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '"+
		p.schema+"' AND TABLE_TYPE = '"+kind+"' ORDER BY CREATE_TIME, 1")
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}

	return names, rows.Err()
}

func (p premade) scan(query string, into ...any) error {
	if err := p.conn.QueryRowContext(p.ctx(), query).Scan(into...); err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	return nil
}

func (p premade) exec(statements ...string) error {
	for _, s := range statements {
		s = strings.NewReplacer("{schema}", p.schema, "{owner}", p.owner).Replace(s)
		if _, err := p.conn.ExecContext(p.ctx(), s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// ctx does not end with the test.
func (p premade) ctx() context.Context { return context.WithoutCancel(p.tb.Context()) }
