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
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// eachServer runs a test against MariaDB and MySQL.
func eachServer(t *testing.T, run func(t *testing.T, cfg *mysql.Config)) {
	t.Helper()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) { run(t, s.Config("")) })
}

// fixture is a catalog, a table of rows with dates, and one open task on it, without an engine
// around them.
type fixture struct {
	t      *testing.T
	cfg    *mysql.Config
	admin  *sql.DB
	engine *pool
	store  *catalog.Store
	schema string
	policy uint64
	job    uint64
	task   uint64
	seen   tables.Incarnation // of the table, when it was last looked at
}

const (
	fixtureCutoff = "'2026-01-01 00:00:00'"
	fixtureFloor  = "'1970-01-02 00:00:00'"
)

func newFixture(t *testing.T, cfg *mysql.Config, rows int) *fixture {
	t.Helper()
	f := &fixture{t: t, cfg: cfg, schema: "ttl_" +
		strings.ToLower(strings.NewReplacer("/", "_", "-", "_").Replace(t.Name()))}
	if len(f.schema) > 40 {
		f.schema = "ttl_" + f.schema[len(f.schema)-36:]
	}

	connector, err := catalog.Connector(cfg)
	if err != nil {
		t.Fatal(err)
	}

	f.admin = sql.OpenDB(connector)
	f.exec("DROP DATABASE IF EXISTS "+f.schema, "DROP DATABASE IF EXISTS "+f.schema+"_c", "CREATE DATABASE "+f.schema)
	f.store, err = catalog.Open(t.Context(), f.admin, catalog.Config{Schema: f.schema + "_c"})
	if err != nil {
		t.Fatal(err)
	}

	f.engine, err = newPool(cfg)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(f.close)
	if rows > 0 {
		f.fill("t", rows)
		f.open()
	}

	return f
}

func (f *fixture) close() {
	ctx := context.WithoutCancel(f.t.Context())
	f.engine.close()
	for _, schema := range []string{f.schema, f.schema + "_c"} {
		if _, err := f.admin.ExecContext(ctx, "DROP DATABASE IF EXISTS "+schema); err != nil {
			f.t.Error(err)
		}
	}
	_ = f.admin.Close()
}

func (f *fixture) exec(statements ...string) {
	f.t.Helper()
	for _, s := range statements {
		if _, err := f.admin.ExecContext(f.t.Context(), s); err != nil {
			f.t.Fatalf("%s: %v", s, err)
		}
	}
}

// in names the fixture's schema in a statement, where that says {t}.
func (f *fixture) in(statement string) string { return strings.ReplaceAll(statement, "{t}", f.schema) }

// fill makes a table whose odd rows are expired.
func (f *fixture) fill(table string, rows int) {
	f.t.Helper()
	f.exec("CREATE TABLE "+f.schema+"."+table+
		" (id INT PRIMARY KEY, made DATETIME NULL, pad VARCHAR(200)) ENGINE=InnoDB",
		fmt.Sprintf("INSERT INTO %s.%s VALUES (1, '2020-01-01', 'x')", f.schema, table))
	for have := 1; have < rows; have *= 2 {
		f.exec(fmt.Sprintf("INSERT INTO %[1]s.%[2]s SELECT id + %[3]d, IF((id + %[3]d) %% 2, '2020-01-01', "+
			"'2030-01-01'), pad FROM %[1]s.%[2]s WHERE id <= %[4]d", f.schema, table, have, rows-have))
	}
}

// open writes a policy, its job and one running task straight into the catalog.
func (f *fixture) open() {
	f.t.Helper()
	c := f.schema + "_c."
	f.policy, f.job, f.task = 1, 1, 1
	f.look()
	f.exec(
		"INSERT INTO "+c+
			"policy (id, version, schema_name, table_name, column_name, interval_literal, interval_unit, "+
			"job_interval, options, state, reason, state_at, column_signature, primary_key, created_at, changed_at)"+
			" VALUES (1, 1, '"+f.schema+
			"', 't', 'made', '1', 'DAY', '1h', '{}', 'armed', '', NOW(), '', '', NOW(), NOW())",
		"INSERT INTO "+c+"pause (policy_id, reason, held_reason) VALUES (1, '', '')",
		"INSERT INTO "+c+
			"job (id, policy_id, policy_version, schema_name, table_name, state, reason, state_at, cutoff, "+
			"cutoff_literal, floor_literal, plan_reason, note, created_at)"+
			" VALUES (1, 1, 1, '"+f.schema+"', 't', 'running', '', NOW(), '2026-01-01', '', '', '', '', NOW())",
		"INSERT INTO "+c+
			"task (id, job_id, policy_id, seq, state, state_at, owner, fence, batch, range_start, range_end, "+
			"cursor_key, error) VALUES (1, 1, 1, 0, 'running', NOW(), 1, 7, 3, '', '', '', '')")
}

func (f *fixture) text(query string) (s string) {
	f.t.Helper()
	err := f.admin.QueryRowContext(f.t.Context(), query).Scan(&s)
	if errors.Is(err, mysql.ErrInvalidConn) { // a test that cuts connections may have cut this one
		err = f.admin.QueryRowContext(f.t.Context(), query).Scan(&s)
	}
	if err != nil {
		f.t.Fatalf("%s: %v", query, err)
	}
	return s
}

func (f *fixture) number(query string) int {
	f.t.Helper()
	n, err := strconv.Atoi(f.text(query))
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

func (f *fixture) rows(table string) string {
	f.t.Helper()
	return f.text("SELECT COUNT(*) FROM " + f.schema + "." + table)
}

func (f *fixture) statements() *plan.Statements {
	f.t.Helper()
	facts, err := tables.ReadFacts(f.t.Context(), f.admin, f.schema, "t")
	if err != nil {
		f.t.Fatal(err)
	}
	s := &plan.Statements{
		Target:  facts.Target(""),
		Expired: plan.Predicate{Column: "`made`", Floor: fixtureFloor, Cutoff: fixtureCutoff, Kind: tables.Datetime},
	}
	s.KeyIndex, s.Key, _ = facts.PagingKey()
	s.TimeIndex, s.Walk, _ = facts.TimeIndex("made")
	return s
}

// look remembers which table has the name t now.
func (f *fixture) look() {
	f.t.Helper()
	seen, err := f.store.Look(f.t.Context(), catalog.Table{Schema: f.schema, Name: "t"})
	if err != nil || !seen.Exists {
		f.t.Fatalf("got %+v, %v", seen, err)
	}
	f.seen = seen.Incarnation
}

func (f *fixture) barrier() *barrier {
	f.t.Helper()
	identity, ok := f.store.IdentityCondition(catalog.Table{Schema: f.schema, Name: "t"}, f.seen[0].CreateTime,
		f.seen[0])
	if !ok {
		f.t.Fatal("the table's id is not known")
	}
	return &barrier{
		table: f.store.Name("task"), job: 1, task: 1, fence: 7, policy: 1, version: 1,
		guard:    f.store.Guard(1, 1),
		identity: identity, atOnce: withoutWaitingOn(f.store.Server()),
	}
}

// serverTable is the table as the engine would hold it, at batch 3.
func (f *fixture) serverTable() *serverTable {
	table := &serverTable{session: f.engine.session(), statements: f.statements(), barrier: f.barrier(), batch: 3}
	f.t.Cleanup(table.session.close)
	return table
}

func (f *fixture) wait(what string, until func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !until(); {
		if time.Now().After(deadline) {
			f.t.Fatalf("%s did not happen", what)
		}
		select {
		case <-f.t.Context().Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}
