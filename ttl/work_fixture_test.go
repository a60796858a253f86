package ttl

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// workFixture is a bed with a pool of the engine's sessions.
type workFixture struct {
	*bed
	engine *pool
}

func newWorkFixture(t *testing.T, cfg *mysql.Config, rows int) *workFixture {
	t.Helper()
	engine, err := newPool(cfg)
	if err != nil {
		t.Fatal(err)
	}

	f := &workFixture{bed: newBed(t, cfg, rows), engine: engine}
	t.Cleanup(engine.close)
	return f
}

func (f *workFixture) statements() *plan.Statements {
	f.t.Helper()
	facts, err := tables.ReadFacts(f.t.Context(), f.admin, f.schema, "t")
	if err != nil {
		f.t.Fatal(err)
	}
	s := &plan.Statements{
		Target:  facts.Target(""),
		Expired: plan.Predicate{Column: "`made`", Floor: bedFloor, Cutoff: bedCutoff, Kind: tables.Datetime},
	}
	s.KeyIndex, s.Key, _ = facts.PagingKey()
	s.TimeIndex, s.Walk, _ = facts.TimeIndex("made")
	return s
}

func (f *workFixture) barrier() *barrier {
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
func (f *workFixture) serverTable() *serverTable {
	table := &serverTable{session: f.engine.session(), statements: f.statements(), barrier: f.barrier(), batch: 3}
	f.t.Cleanup(table.session.close)
	return table
}
