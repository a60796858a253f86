package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

var lastSchema atomic.Int64 //nolint:gochecknoglobals // names must differ between parallel tests

// onServers runs a test on each real server, with a catalog of its own and a schema for user tables
// beside it.
func onServers(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			test(t, newBench(t, mysqltest.Shared(t, flavour).Config("")))
		})
	}
}

// bench is a catalog on a server, and a schema for user tables.
type bench struct {
	*Store
	db   *sql.DB
	user string // schema of user tables
	cfg  *mysql.Config
}

func newBench(t *testing.T, cfg *mysql.Config) *bench {
	t.Helper()
	b := &bench{cfg: cfg, db: openDB(t, cfg)}
	n := fmt.Sprintf("%d_%d", os.Getpid(), lastSchema.Add(1))
	b.user = "user_" + n
	b.exec(t, "CREATE DATABASE "+b.user)
	t.Cleanup(func() {
		if err := mysqltest.Insist(context.Background(), b.db, "DROP DATABASE IF EXISTS "+b.user); err != nil {
			t.Error(err)
		}
	})

	mysqltest.Premade(t, b.db, func(schema string) (err error) {
		b.Store, err = Open(t.Context(), b.db, Config{Schema: schema, Version: "test"})
		return err
	})

	return b
}

func openDB(t *testing.T, cfg *mysql.Config) *sql.DB {
	t.Helper()
	c, err := Connector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func (b *bench) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	if b.Store != nil {
		query = b.sql(query)
	}
	query = strings.ReplaceAll(query, "user.", b.user+".")
	if err := mysqltest.Insist(t.Context(), b.db, query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// scalar returns a number from the catalog.
func (b *bench) scalar(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	if err := b.db.QueryRowContext(t.Context(), b.sql(query), args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// table creates a user table that a policy may be declared on.
func (b *bench) table(t *testing.T, name string) Table {
	t.Helper()
	b.exec(t, "CREATE TABLE user."+name+" (id BIGINT PRIMARY KEY, at DATETIME)")
	return Table{Schema: b.user, Name: name}
}

func testRule() Rule {
	return Rule{
		Column: "at", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1h", TimeZone: "UTC",
		ZoneSource: ZoneFromServer,
	}
}

// declare gives a table the test rule.
func (b *bench) declare(t *testing.T, table Table) Policy {
	t.Helper()
	p, err := b.Declare(t.Context(), b.client(), Declaration{Table: table, Rule: testRule()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (b *bench) client() Client {
	return Client{Account: "ann@%", Server: b.Server().Key(), Boot: b.Server().Boot, Connection: 1 << 60}
}
