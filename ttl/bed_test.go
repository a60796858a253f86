package ttl

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

// eachServer runs a test against MariaDB and MySQL.
func eachServer(t *testing.T, run func(t *testing.T, cfg *mysql.Config)) {
	t.Helper()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) { run(t, s.Config("")) })
}

// bed is a catalog, a table of rows with dates, and one open task on it, without an engine around
// them.
type bed struct {
	t      *testing.T
	cfg    *mysql.Config
	admin  *sql.DB
	store  *catalog.Store
	schema string
	seen   tables.Incarnation // of the table, when it was last looked at
}

// What expired rows are judged by, as literals.
const (
	bedCutoff = "'2026-01-01 00:00:00'"
	bedFloor  = "'1970-01-02 00:00:00'"
)

// newBed makes one with a table t of so many rows, or without a table.
func newBed(t *testing.T, cfg *mysql.Config, rows int) *bed {
	t.Helper()
	b := &bed{t: t, cfg: cfg, schema: "ttl_" +
		strings.ToLower(strings.NewReplacer("/", "_", "-", "_").Replace(t.Name()))}
	if len(b.schema) > 40 {
		b.schema = "ttl_" + b.schema[len(b.schema)-36:]
	}

	connector, err := catalog.Connector(cfg)
	if err != nil {
		t.Fatal(err)
	}

	b.admin = sql.OpenDB(connector)
	b.exec("DROP DATABASE IF EXISTS "+b.schema, "DROP DATABASE IF EXISTS "+b.schema+"_c", "CREATE DATABASE "+b.schema)
	b.store, err = catalog.Open(t.Context(), b.admin, catalog.Config{Schema: b.schema + "_c"})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(b.close)
	if rows > 0 {
		b.fill("t", rows)
		b.open()
	}

	return b
}

func (b *bed) close() {
	ctx := context.WithoutCancel(b.t.Context())
	for _, schema := range []string{b.schema, b.schema + "_c"} {
		if _, err := b.admin.ExecContext(ctx, "DROP DATABASE IF EXISTS "+schema); err != nil {
			b.t.Error(err)
		}
	}
	_ = b.admin.Close()
}

func (b *bed) exec(statements ...string) {
	b.t.Helper()
	for _, s := range statements {
		if _, err := b.admin.ExecContext(b.t.Context(), s); err != nil {
			b.t.Fatalf("%s: %v", s, err)
		}
	}
}

// in names the fixture's schema in a statement, where that says {t}.
func (b *bed) in(statement string) string { return strings.ReplaceAll(statement, "{t}", b.schema) }

// fill makes a table whose odd rows are expired.
func (b *bed) fill(table string, rows int) {
	b.t.Helper()
	b.exec("CREATE TABLE "+b.schema+"."+table+
		" (id INT PRIMARY KEY, made DATETIME NULL, pad VARCHAR(200)) ENGINE=InnoDB",
		fmt.Sprintf("INSERT INTO %s.%s VALUES (1, '2020-01-01', 'x')", b.schema, table))
	for have := 1; have < rows; have *= 2 {
		b.exec(fmt.Sprintf("INSERT INTO %[1]s.%[2]s SELECT id + %[3]d, IF((id + %[3]d) %% 2, '2020-01-01', "+
			"'2030-01-01'), pad FROM %[1]s.%[2]s WHERE id <= %[4]d", b.schema, table, have, rows-have))
	}
}

// open writes a policy, its job and one running task straight into the catalog.
func (b *bed) open() {
	b.t.Helper()
	c := b.schema + "_c."
	b.look()
	b.exec(
		"INSERT INTO "+c+
			"policy (id, version, schema_name, table_name, column_name, interval_literal, interval_unit, "+
			"job_interval, options, state, reason, state_at, column_signature, primary_key, created_at, changed_at)"+
			" VALUES (1, 1, '"+b.schema+
			"', 't', 'made', '1', 'DAY', '1h', '{}', 'armed', '', NOW(), '', '', NOW(), NOW())",
		"INSERT INTO "+c+"pause (policy_id, reason, held_reason) VALUES (1, '', '')",
		"INSERT INTO "+c+
			"job (id, policy_id, policy_version, schema_name, table_name, state, reason, state_at, cutoff, "+
			"cutoff_literal, floor_literal, plan_reason, note, created_at)"+
			" VALUES (1, 1, 1, '"+b.schema+"', 't', 'running', '', NOW(), '2026-01-01', '', '', '', '', NOW())",
		"INSERT INTO "+c+
			"task (id, job_id, policy_id, seq, state, state_at, owner, fence, batch, range_start, range_end, "+
			"cursor_key, error) VALUES (1, 1, 1, 0, 'running', NOW(), 1, 7, 3, '', '', '', '')")
}

func (b *bed) text(query string) (s string) {
	b.t.Helper()
	err := b.admin.QueryRowContext(b.t.Context(), query).Scan(&s)
	if errors.Is(err, mysql.ErrInvalidConn) { // a test that cuts connections may have cut this one
		err = b.admin.QueryRowContext(b.t.Context(), query).Scan(&s)
	}
	if err != nil {
		b.t.Fatalf("%s: %v", query, err)
	}
	return s
}

func (b *bed) number(query string) int {
	b.t.Helper()
	n, err := strconv.Atoi(b.text(query))
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

func (b *bed) rows(table string) string {
	b.t.Helper()
	return b.text("SELECT COUNT(*) FROM " + b.schema + "." + table)
}

// look remembers which table has the name t now.
func (b *bed) look() {
	b.t.Helper()
	seen, err := b.store.Look(b.t.Context(), catalog.Table{Schema: b.schema, Name: "t"})
	if err != nil || !seen.Exists {
		b.t.Fatalf("got %+v, %v", seen, err)
	}
	b.seen = seen.Incarnation
}

func (b *bed) wait(what string, until func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !until(); {
		if time.Now().After(deadline) {
			b.t.Fatalf("%s did not happen", what)
		}
		select {
		case <-b.t.Context().Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// hold lets an application hold locks, in REPEATABLE READ as most have it, until it is let go of.
func (b *bed) hold(statements ...string) (letGo func()) {
	b.t.Helper()
	tx, err := b.admin.BeginTx(b.t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		b.t.Fatal(err)
	}

	for _, s := range statements {
		if _, err := tx.ExecContext(b.t.Context(), strings.ReplaceAll(s, "{t}", b.schema+".t")); err != nil {
			b.t.Fatalf("%s: %v", s, err)
		}
	}

	return func() {
		if err := tx.Rollback(); err != nil {
			b.t.Error(err)
		}
	}
}

// nextSecond waits until CREATE_TIME, which has whole seconds, must differ. MariaDB takes it from a
// file, whose time the kernel reads from a clock that is up to a tick, ten milliseconds, behind the
// one that the server reads.
func (b *bed) nextSecond() func() bool {
	now := b.text("SELECT UTC_TIMESTAMP(0)")
	return func() bool {
		return b.text("SELECT UTC_TIMESTAMP(6) > '"+now+"' + INTERVAL 1050 * 1000 MICROSECOND") == "1"
	}
}

// declare makes a policy on a table as the proxy would, with a job every second.
func (b *bed) declare(table string) catalog.Policy {
	b.t.Helper()
	return b.declareEvery(table, "1s")
}

func (b *bed) declareEvery(table, interval string) catalog.Policy {
	b.t.Helper()
	p, err := b.store.Declare(b.t.Context(), catalog.Client{Account: "test"}, catalog.Declaration{
		Table: catalog.Table{Schema: b.schema, Name: table},
		Rule: catalog.Rule{
			Column: "made", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: interval,
			TimeZone: "UTC", ZoneSource: catalog.ZoneFromTable,
		},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// noon of a day on which nothing happens.
var noon = time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
