package ttltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// EachServer runs a test against MariaDB and MySQL.
func EachServer(t *testing.T, run func(t *testing.T, cfg *mysql.Config)) {
	t.Helper()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) { run(t, s.Config("")) })
}

// Bed is a catalog, a table of rows with dates, and one open task on it, without an engine around
// them.
type Bed struct {
	T      *testing.T
	Config *mysql.Config
	Admin  *sql.DB
	Store  *catalog.Store
	Schema string
	Seen   tables.Incarnation // of the table, when it was last looked at
}

// Cutoff and Floor are what expired rows are judged by, as literals.
const (
	Cutoff = "'2026-01-01 00:00:00'"
	Floor  = "'1970-01-02 00:00:00'"
)

// NewBed makes a bed with a table t of so many rows, half of them expired, or without a table. It is
// gone when the test ends.
func NewBed(t *testing.T, cfg *mysql.Config, rows int) *Bed {
	t.Helper()
	return newBed(t, cfg, rows, mysqltest.Premade)
}

// NewMigratedBed is NewBed on a server whose settings are somebody's whims: only the migrations
// themselves know how to make a catalog there.
func NewMigratedBed(t *testing.T, cfg *mysql.Config, rows int) *Bed {
	t.Helper()
	return newBed(t, cfg, rows, mysqltest.Migrated)
}

func newBed(
	t *testing.T, cfg *mysql.Config, rows int,
	makeCatalog func(testing.TB, *sql.DB, func(schema string) error) (schema string),
) *Bed {
	t.Helper()
	b := &Bed{T: t, Config: cfg}
	connector, err := catalog.Connector(cfg)
	if err != nil {
		t.Fatal(err)
	}

	b.Admin = sql.OpenDB(connector)
	t.Cleanup(b.close)
	own := makeCatalog(t, b.Admin, func(schema string) (err error) {
		b.Store, err = catalog.Open(t.Context(), b.Admin, catalog.Config{Schema: schema})
		return err
	})
	mysqltest.Unhurried(t, b.Admin, own)

	b.Schema = strings.TrimSuffix(own, "_c") // tests write {t} and {t}_c
	b.Exec("DROP DATABASE IF EXISTS "+b.Schema, "CREATE DATABASE "+b.Schema)
	t.Cleanup(func() {
		_ = mysqltest.Insist(context.WithoutCancel(t.Context()), b.Admin, "DROP DATABASE IF EXISTS "+b.Schema)
	})
	if rows > 0 {
		b.Fill("t", rows)
		b.Open()
	}

	return b
}

func (b *Bed) close() { _ = b.Admin.Close() }

// Exec runs statements as an administrator.
func (b *Bed) Exec(statements ...string) {
	b.T.Helper()
	for _, s := range statements {
		if err := mysqltest.Insist(b.T.Context(), b.Admin, s); err != nil {
			b.T.Fatalf("%s: %v", s, err)
		}
	}
}

// In names the bed's schema in a statement, where that says {t}.
func (b *Bed) In(statement string) string { return strings.ReplaceAll(statement, "{t}", b.Schema) }

// Fill makes a table whose odd rows are expired.
func (b *Bed) Fill(table string, rows int) {
	b.T.Helper()
	b.Exec("CREATE TABLE "+b.Schema+"."+table+
		" (id INT PRIMARY KEY, made DATETIME NULL, pad VARCHAR(200)) ENGINE=InnoDB",
		fmt.Sprintf("INSERT INTO %s.%s VALUES (1, '2020-01-01', 'x')", b.Schema, table))
	for have := 1; have < rows; have *= 2 {
		b.Exec(fmt.Sprintf("INSERT INTO %[1]s.%[2]s SELECT id + %[3]d, IF((id + %[3]d) %% 2, '2020-01-01', "+
			"'2030-01-01'), pad FROM %[1]s.%[2]s WHERE id <= %[4]d", b.Schema, table, have, rows-have))
	}
}

// Open writes a policy, its job and one running task straight into the catalog.
func (b *Bed) Open() {
	b.T.Helper()
	c := b.Schema + "_c."
	b.Look()
	b.Exec(
		"INSERT INTO "+c+
			"policy (id, version, schema_name, table_name, column_name, interval_literal, interval_unit, "+
			"job_interval, options, state, reason, state_at, column_signature, primary_key, created_at, changed_at)"+
			" VALUES (1, 1, '"+b.Schema+
			"', 't', 'made', '1', 'DAY', '1h', '{}', 'armed', '', NOW(), '', '', NOW(), NOW())",
		"INSERT INTO "+c+"pause (policy_id, reason, held_reason) VALUES (1, '', '')",
		"INSERT INTO "+c+
			"job (id, policy_id, policy_version, schema_name, table_name, state, reason, state_at, cutoff, "+
			"cutoff_literal, floor_literal, plan_reason, note, created_at)"+
			" VALUES (1, 1, 1, '"+b.Schema+"', 't', 'running', '', NOW(), '2026-01-01', '', '', '', '', NOW())",
		"INSERT INTO "+c+
			"task (id, job_id, policy_id, seq, state, state_at, owner, fence, batch, range_start, range_end, "+
			"cursor_key, error) VALUES (1, 1, 1, 0, 'running', NOW(), 1, 7, 3, '', '', '', '')")
}

// Text is the one value that a query returns.
func (b *Bed) Text(query string) (s string) {
	b.T.Helper()
	err := b.Admin.QueryRowContext(b.T.Context(), query).Scan(&s)
	if errors.Is(err, mysql.ErrInvalidConn) { // a test that cuts connections may have cut this one
		err = b.Admin.QueryRowContext(b.T.Context(), query).Scan(&s)
	}
	if err != nil {
		b.T.Fatalf("%s: %v", query, err)
	}
	return s
}

// Number is Text as a number.
func (b *Bed) Number(query string) int {
	b.T.Helper()
	n, err := strconv.Atoi(b.Text(query))
	if err != nil {
		b.T.Fatal(err)
	}
	return n
}

// Rows is how many rows a table has, as text.
func (b *Bed) Rows(table string) string {
	b.T.Helper()
	return b.Text("SELECT COUNT(*) FROM " + b.Schema + "." + table)
}

// Look remembers which table has the name t now.
func (b *Bed) Look() {
	b.T.Helper()
	seen, err := b.Store.Look(b.T.Context(), catalog.Table{Schema: b.Schema, Name: "t"})
	if err != nil || !seen.Exists {
		b.T.Fatalf("got %+v, %v", seen, err)
	}
	b.Seen = seen.Incarnation
}

// Wait waits until something has happened, and fails the test if it does not. As long as jobs delete rows, it waits: a
// machine that is busy with other tests may take long for that.
func (b *Bed) Wait(what string, until func() bool) {
	b.T.Helper()
	gone := 0
	for deadline := time.Now().Add(mysqltest.Patience); !until(); {
		if time.Now().After(deadline) {
			now := b.Number(b.In("SELECT COALESCE(SUM(deleted), 0) FROM {t}_c.task"))
			if now <= gone {
				b.T.Fatalf("%s did not happen; of the jobs that are open %d rows are gone", what, now)
			}
			gone, deadline = now, time.Now().Add(mysqltest.Patience)
		}
		select {
		case <-b.T.Context().Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Hold lets an application hold locks, in REPEATABLE READ as most have it, until it is let go of.
func (b *Bed) Hold(statements ...string) (letGo func()) {
	b.T.Helper()
	tx, err := b.Admin.BeginTx(b.T.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		b.T.Fatal(err)
	}

	for _, s := range statements {
		if _, err := tx.ExecContext(b.T.Context(), strings.ReplaceAll(s, "{t}", b.Schema+".t")); err != nil {
			b.T.Fatalf("%s: %v", s, err)
		}
	}

	return func() {
		if err := tx.Rollback(); err != nil {
			b.T.Error(err)
		}
	}
}

// NextSecond says when CREATE_TIME, which has whole seconds, must differ. MariaDB takes it from a
// file, whose time the kernel reads from a clock that is up to a tick, ten milliseconds, behind the
// one that the server reads.
func (b *Bed) NextSecond() func() bool {
	now := b.Text("SELECT UTC_TIMESTAMP(0)")
	return func() bool {
		return b.Text("SELECT UTC_TIMESTAMP(6) > '"+now+"' + INTERVAL 1050 * 1000 MICROSECOND") == "1"
	}
}

// Declare makes a policy on a table as the proxy would, with a job every second.
func (b *Bed) Declare(table string) catalog.Policy {
	b.T.Helper()
	return b.DeclareEvery(table, "1s")
}

// DeclareEvery is Declare with a job every interval.
func (b *Bed) DeclareEvery(table, interval string) catalog.Policy {
	b.T.Helper()
	p, err := b.Store.Declare(b.T.Context(), catalog.Client{Account: "test"}, catalog.Declaration{
		Table: catalog.Table{Schema: b.Schema, Name: table},
		Rule: catalog.Rule{
			Column: "made", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: interval,
			TimeZone: "UTC", ZoneSource: catalog.ZoneFromTable,
		},
	})
	if err != nil {
		b.T.Fatal(err)
	}
	return p
}

// Noon is that of a day on which nothing happens.
var Noon = time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
