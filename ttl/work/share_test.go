package work

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestBatchBeyondItsShareIsRefused: what a node was once allowed is of no use to it when others
// have been given it since.
func TestBatchBeyondItsShareIsRefused(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 100)
		f.Exec("UPDATE " + f.Schema + "_c.task SET allowed = 10")
		table, end := f.serverTable(), tables.Key{"100"}
		if _, err := table.deleteRange(t.Context(), plan.Range{To: end}, checkpoint{cursor: end}); err == nil ||
			classify(err) != notExecuted {
			t.Errorf("got %v, want the batch refused", err)
		}
		if got := f.Rows("t"); got != "100" {
			t.Errorf("%s rows are left, want all", got)
		}

		end = tables.Key{"20"} // of which ten are due
		if n, err := table.deleteRange(t.Context(), plan.Range{To: end}, checkpoint{cursor: end}); n != 10 ||
			err != nil {
			t.Errorf("got %d, %v, want what the task may delete", n, err)
		}
	})
}
