package ttl

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// workFixture is a bed with a pool of the engine's sessions.
type workFixture struct {
	*ttltest.Bed
	engine *pool
}

func newWorkFixture(t *testing.T, cfg *mysql.Config, rows int) *workFixture {
	t.Helper()
	engine, err := newPool(cfg)
	if err != nil {
		t.Fatal(err)
	}

	f := &workFixture{Bed: ttltest.NewBed(t, cfg, rows), engine: engine}
	t.Cleanup(engine.close)
	return f
}

func (f *workFixture) statements() *plan.Statements {
	f.T.Helper()
	facts, err := tables.ReadFacts(f.T.Context(), f.Admin, f.Schema, "t")
	if err != nil {
		f.T.Fatal(err)
	}
	s := &plan.Statements{
		Target:  facts.Target(""),
		Expired: plan.Predicate{Column: "`made`", Floor: ttltest.Floor, Cutoff: ttltest.Cutoff, Kind: tables.Datetime},
	}
	s.KeyIndex, s.Key, _ = facts.PagingKey()
	s.TimeIndex, s.Walk, _ = facts.TimeIndex("made")
	return s
}

func (f *workFixture) barrier() *barrier {
	f.T.Helper()
	identity, ok := f.Store.IdentityCondition(catalog.Table{Schema: f.Schema, Name: "t"}, f.Seen[0].CreateTime,
		f.Seen[0])
	if !ok {
		f.T.Fatal("the table's id is not known")
	}
	return &barrier{
		table: f.Store.Name("task"), job: 1, task: 1, fence: 7, policy: 1, version: 1,
		guard:    f.Store.Guard(1, 1),
		identity: identity, atOnce: withoutWaitingOn(f.Store.Server()),
	}
}

// serverTable is the table as the engine would hold it, at batch 3.
func (f *workFixture) serverTable() *serverTable {
	table := &serverTable{session: f.engine.session(), statements: f.statements(), barrier: f.barrier(), batch: 3}
	f.T.Cleanup(table.session.close)
	return table
}
