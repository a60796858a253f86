package statement

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// adminBed is a proxy with a catalog of its own in front of a real server.
type adminBed struct {
	server *mysqltest.Server
	store  *catalog.Store
	db     *sql.DB // of the catalog
	schema string  // of the tables
	addr   string  // of the proxy
}

// onBed runs a test with a bed on each server, and a session of the account with all rights.
func onBed(t *testing.T, test func(t *testing.T, b *adminBed, db *sql.DB)) {
	t.Helper()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		b := newAdminBed(t, s)
		test(t, b, b.client(t, nil))
	})
}

func newAdminBed(t *testing.T, s *mysqltest.Server) *adminBed {
	t.Helper()
	b := &adminBed{server: s, schema: s.Database(t)}
	connector, err := catalog.Connector(s.Config(""))
	if err != nil {
		t.Fatal(err)
	}

	b.db = sql.OpenDB(connector)
	t.Cleanup(func() { b.db.Close() })
	mysqltest.Premade(t, b.db, func(schema string) (err error) {
		b.store, err = catalog.Open(t.Context(), b.db, catalog.Config{Schema: schema})
		return err
	})

	h := New(Config{Catalog: func() *catalog.Store { return b.store }, DB: b.db}, slog.New(slog.DiscardHandler))
	h.moment = mysqltest.Patience // also on a busy machine
	b.addr = proxyWith(t, s.Addr(), h)

	return b
}

// client opens connections through the proxy, of the account with all rights (nil) or of another
// one.
func (b *adminBed) client(t *testing.T, account *mysql.Config) *sql.DB {
	t.Helper()
	if account == nil {
		account = b.server.Config(b.schema)
	}
	account = account.Clone()
	account.Net, account.Addr, account.DBName = "tcp", b.addr, b.schema
	account.MultiStatements = true
	db := mysqltest.Open(t, account)
	db.SetMaxOpenConns(1) // one session, so that SHOW WARNINGS is about the statement before it
	return db
}

// declare creates a table and gives it a policy.
func (b *adminBed) declare(t *testing.T, name string, change ...func(*catalog.Rule)) catalog.Policy {
	t.Helper()
	if _, err := b.db.ExecContext(t.Context(),
		"CREATE TABLE "+b.schema+"."+name+" (id INT PRIMARY KEY, at DATETIME, note TEXT)"); err != nil {
		t.Fatal(err)
	}

	rule := catalog.Rule{
		Column: "at", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "24h", TimeZone: "UTC",
		ZoneSource: catalog.ZoneFromTable,
	}
	for _, c := range change {
		c(&rule)
	}

	p, err := b.store.Declare(t.Context(), b.someone(),
		catalog.Declaration{Table: catalog.Table{Schema: b.schema, Name: name}, Rule: rule})
	if err != nil {
		t.Fatal(err)
	}

	return p
}

func (b *adminBed) someone() catalog.Client {
	return catalog.Client{Account: "someone@%", Server: b.store.Server().Key()}
}

// run runs a statement without rows.
// idleEngine has the lists see an engine, without which every verdict is that there is none.
func (b *adminBed) idleEngine(t *testing.T) {
	t.Helper()
	node, err := b.store.Join(t.Context(), catalog.Node{Name: "idle", Engine: true})
	if err != nil {
		t.Fatal(err)
	}
	run(t, b.db, fmt.Sprintf("UPDATE %s.node SET heartbeat_at = '2999-01-01' WHERE id = %d", b.store.Schema(), node))
}

// run runs a statement, once more if the answer says so: a server that is busy with other tests takes its time.
func run(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	_, err := mysqltest.Again(mysqltest.Busy, func() (sql.Result, error) {
		return db.ExecContext(t.Context(), query, args...)
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// refused is the number of the error that a statement is answered with, and its text.
func refused(t *testing.T, db *sql.DB, query string, args ...any) (uint16, string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), query, args...)
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		t.Fatalf("%s: got %v, want an error of the server", query, err)
	}
	return e.Number, e.Message
}

// columns runs a query and returns the names of its columns.
func columns(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	r, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return linesOf(t, r, query)
}

// linesOf reads an answer to its end.
func linesOf(t *testing.T, r *sql.Rows, query string) []string {
	t.Helper()
	defer r.Close()
	names, err := r.Columns()
	if err != nil || r.Err() != nil {
		t.Fatalf("%s: %v, %v", query, err, r.Err())
	}
	return names
}

// rows runs a query and returns its rows as text, the columns separated by bars.
func rows(t *testing.T, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	r, err := mysqltest.Again(mysqltest.Busy, func() (*sql.Rows, error) {
		return db.QueryContext(t.Context(), query, args...)
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer r.Close()

	names, err := r.Columns()
	if err != nil {
		t.Fatal(err)
	}

	var all []string
	for r.Next() {
		values := make([]sql.NullString, len(names))
		into := make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}

		if err := r.Scan(into...); err != nil {
			t.Fatal(err)
		}

		line := make([]string, len(names))
		for i, v := range values {
			if line[i] = "NULL"; v.Valid {
				line[i] = v.String
			}
		}

		all = append(all, strings.Join(line, "|"))
	}

	if err := r.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}

	return all
}
