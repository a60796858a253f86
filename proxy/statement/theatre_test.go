package statement

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// theatre is a proxy in front of a real server, with a catalog and a schema of its own.
type theatre struct {
	*testing.T
	server *mysqltest.Server
	store  *catalog.Store

	handler *Handler
	schema  string
	direct  *sql.DB // root, not through the proxy
	db      *sql.DB // root, through the proxy
	addr    string
	after   atomic.Pointer[func(step) error] // what becomes of a statement behind a step
}

// onStage runs a test with a proxy in front of each server.
func onStage(t *testing.T, test func(t *theatre)) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		test(newTheatre(t, s))
	})
}

func newTheatre(t *testing.T, s *mysqltest.Server) *theatre {
	schema := s.Database(t)
	connector, err := catalog.Connector(s.Config(""))
	if err != nil {
		t.Fatal(err)
	}

	service := sql.OpenDB(connector)
	t.Cleanup(func() { service.Close() })

	var store *catalog.Store
	mysqltest.Premade(t, service, func(schema string) (err error) {
		store, err = catalog.Open(t.Context(), service, catalog.Config{Schema: schema})
		return err
	})

	th := &theatre{T: t, server: s, store: store, schema: schema, direct: s.Open(t, schema)}
	h := New(Config{Catalog: func() *catalog.Store { return store }, DB: service},
		slog.New(slog.NewTextHandler(wiretest.NewLog(t), nil)))
	h.moment = mysqltest.Patience // also on a busy machine
	h.after = func(s step) error {
		if f := th.after.Load(); f != nil {
			return (*f)(s)
		}
		return nil
	}

	th.handler = h
	th.addr = proxyWith(t, s.Addr(), h)
	th.db = th.open(s.Config(schema))
	return th
}

// open connects through the proxy.
func (t *theatre) open(c *mysql.Config) *sql.DB {
	t.Helper()
	c = c.Clone()
	c.Net, c.Addr, c.MultiStatements = "tcp", t.addr, true
	return mysqltest.Open(t.T, c)
}

// exec runs statements through the proxy.
func (t *theatre) exec(statements ...string) {
	t.Helper()
	for _, s := range statements {
		run(t.T, t.db, s)
	}
}

// lockCatalog keeps everybody from a table of the catalog, until it is unlocked or the test is over.
func (t *theatre) lockCatalog(table string) (unlock func()) {
	t.Helper()
	conn, err := t.direct.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "LOCK TABLES "+t.store.Schema()+"."+table+" WRITE"); err != nil {
		t.Fatal(err)
	}

	unlock = sync.OnceFunc(func() {
		if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), "UNLOCK TABLES"); err != nil {
			t.Error(err)
		}
		conn.Close()
	})
	t.Cleanup(unlock)
	return unlock
}

// fails runs a statement that must be refused with an error of that number.
func (t *theatre) fails(code uint16, statement string) {
	t.Helper()
	_, err := t.db.ExecContext(t.Context(), statement)
	t.want(code, statement, err)
}

func (t *theatre) want(code uint16, statement string, err error) {
	t.Helper()
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) || refused.Number != code {
		t.Errorf("%s: got %v, want error %d", statement, err, code)
	}
}

// policy says what the catalog holds for a table, in one line; empty for nothing.
func (t *theatre) policy(table string) string {
	t.Helper()
	p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: table})
	if errors.Is(err, catalog.ErrNoPolicy) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}

	enabled := ""
	if !p.Rule.Enabled {
		enabled = " off"
	}

	return fmt.Sprintf("%s %s %s %s%s %s",
		p.State, p.Rule.Column, p.Rule.Literal, p.Rule.Unit, enabled, p.Rule.JobInterval)
}

func (t *theatre) wantPolicy(table, want string) {
	t.Helper()
	if got := t.policy(table); got != want {
		t.Errorf("policy of %s: got %q, want %q", table, got, want)
	}
}

// created is SHOW CREATE TABLE through the proxy.
func (t *theatre) created(table string) string {
	t.Helper()
	var name, text string
	if err := t.db.QueryRowContext(t.Context(), "SHOW CREATE TABLE "+table).Scan(&name, &text); err != nil {
		t.Fatal(err)
	}
	return text
}

// awaitState waits until the policy of a table is in the state.
func (t *theatre) awaitState(table string, want catalog.PolicyState) {
	t.Helper()
	t.await(fmt.Sprintf("policy of %s never became %s", table, want), func() bool {
		p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: table})
		return err == nil && p.State == want
	})
}

// await looks until it is so.
func (t *theatre) await(otherwise string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(mysqltest.Patience); !so(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal(otherwise)
		}
	}
}
