package plan

import (
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestCounted: however wrong the statistics are, and the estimates of ranges, a table is not taken for a larger one.
func TestCounted(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, server *mysqltest.Server) {
		schema := server.Database(t)
		db := server.Open(t, schema)
		mustExec(t, db, "CREATE TABLE "+schema+".numbers (n INT PRIMARY KEY)",
			"INSERT INTO "+schema+".numbers WITH RECURSIVE d AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM d WHERE "+
				"n < 499) SELECT a.n * 500 + b.n FROM d a, d b")
		for name, c := range map[string]struct {
			key, where string
			rows       int64
			exact      bool
		}{
			"inorder":   {"n", "TRUE", 250_000, false},
			"scattered": {"(n * 2654435761) % 4294967291", "TRUE", 250_000, false},
			"uneven":    {"n", "n >= 210000 OR n % 100 = 0", 42_100, true},
			"small":     {"n", "n < 9000", 9_000, true},
		} {
			table := schema + "." + name
			mustExec(t, db, "CREATE TABLE "+table+" (id BIGINT PRIMARY KEY, made DATETIME, pad CHAR(20), KEY (made))",
				"INSERT INTO "+table+" SELECT "+c.key+", IF(n % 3, '2019-01-01', '2030-01-01'), 'x' FROM "+
					schema+".numbers WHERE "+c.where)
			_, s := statementsFor(t, db, schema, name)
			e, err := s.Estimate(t.Context(), db, 3*c.rows)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Counted(t.Context(), db, e)
			if err != nil {
				t.Fatal(err)
			}
			if off := float64(got.Rows)/float64(c.rows) - 1; off < -0.2 || off > 0.2 || got.Exact != c.exact ||
				c.exact && got.Rows != c.rows {
				t.Errorf("%s: got %d rows, exactly: %t, want %d, %t", name, got.Rows, got.Exact, c.rows, c.exact)
			}
			if share := got.Share(); share < 0.5 || share > 0.85 {
				t.Errorf("%s: a share of %.2f is due, want two thirds", name, share)
			}
		}
	})
}
