package plan

import (
	"context"
	"database/sql"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// counter counts the questions that are put to a connection.
type counter struct {
	tables.Querier
	asked int
}

func (c *counter) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.asked++
	return c.Querier.QueryContext(ctx, query, args...)
}

func (c *counter) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	c.asked++
	return c.Querier.QueryRowContext(ctx, query, args...)
}

// TestOneTaskIsNotCut: what becomes one task is asked for its end, and nothing else.
func TestOneTaskIsNotCut(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		makeNumbers(t, db, "plan_whole", 100)
		mustExec(t, db,
			"CREATE TABLE plan_whole.t (id INT PRIMARY KEY, made DATETIME) AS SELECT n AS id, NOW() AS made FROM "+
				"plan_whole.numbers")
		_, s := statementsFor(t, db, "plan_whole", "t")
		c := &counter{Querier: db}

		ranges, err := s.Split(t.Context(), c, Estimate{}, 1)
		if err != nil || len(ranges) != 1 || ranges[0].From != nil || string(ranges[0].To[0]) != "100" {
			t.Errorf("got %v, %v; want all up to the last key", ranges, err)
		}
		if c.asked != 1 {
			t.Errorf("%d questions, want one", c.asked)
		}

		mustExec(t, db, "DELETE FROM plan_whole.t")
		if ranges, err := s.Split(t.Context(), db, Estimate{}, 1); err != nil || len(ranges) != 0 {
			t.Errorf("got %v, %v of an empty table; want none", ranges, err)
		}
	})
}
