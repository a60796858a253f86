package ttl

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// fixture is a bed with a pool of the engine's sessions.
type fixture struct {
	*bed
	engine *pool
}

const (
	fixtureCutoff = "'2026-01-01 00:00:00'"
	fixtureFloor  = "'1970-01-02 00:00:00'"
)

func newFixture(t *testing.T, cfg *mysql.Config, rows int) *fixture {
	t.Helper()
	engine, err := newPool(cfg)
	if err != nil {
		t.Fatal(err)
	}

	f := &fixture{bed: newBed(t, cfg, rows), engine: engine}
	t.Cleanup(engine.close)
	return f
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
