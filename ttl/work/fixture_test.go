package work

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// fixture is a bed with a pool of the engine's sessions.
type fixture struct {
	*ttltest.Bed
	engine *Pool
}

func newFixture(t *testing.T, cfg *mysql.Config, rows int) *fixture {
	t.Helper()
	engine, err := NewPool(cfg)
	if err != nil {
		t.Fatal(err)
	}

	f := &fixture{Bed: ttltest.NewBed(t, cfg, rows), engine: engine}
	t.Cleanup(engine.Close)
	return f
}

func (f *fixture) statements() *plan.Statements {
	f.T.Helper()
	facts, err := tables.ReadFacts(f.T.Context(), f.Admin, f.Schema, "t")
	if err != nil {
		f.T.Fatal(err)
	}
	s := &plan.Statements{
		Target:  facts.Target(""),
		Date:    tables.Columns{{Name: "made", Kind: tables.Datetime}},
		Expired: plan.Predicate{Column: "`made`", Floor: ttltest.Floor, Cutoff: ttltest.Cutoff, Kind: tables.Datetime},
	}
	s.KeyIndex, s.Key, _ = facts.PagingKey()
	s.TimeIndex, s.Walk, _ = facts.TimeIndex("made")
	return s
}

func (f *fixture) barrier() *barrier {
	f.T.Helper()
	identity, ok := f.Store.IdentityCondition(catalog.Table{Schema: f.Schema, Name: "t"}, f.Seen[0].CreateTime,
		f.Seen[0])
	if !ok {
		f.T.Fatal("the table's id is not known")
	}
	return &barrier{
		table: f.Store.Name("task"), job: 1, task: 1, fence: 7, policy: 1, version: 1,
		guard:    f.Store.Guard(1, 1),
		identity: identity, atOnce: withoutWaitingOn(f.Store.Server()), mariadb: f.Store.Server().MariaDB,
	}
}

// serverTable is the table as the engine would hold it, at batch 3.
func (f *fixture) serverTable() *serverTable {
	table := &serverTable{session: f.engine.Session(), statements: f.statements(), barrier: f.barrier(), batch: 3}
	f.T.Cleanup(table.session.Close)
	return table
}

// dueKeys are the keys of the rows in a range that have expired.
func dueKeys(t *testing.T, table *serverTable, r plan.Range) (keys []tables.Key, err error) {
	t.Helper()
	rows, err := table.expired(t.Context(), r)
	for _, row := range rows {
		keys = append(keys, row.at)
	}
	return keys, err
}
