package plan

import (
	"database/sql"
	"fmt"
	"testing"
)

// TestRowsThatNeverExpireByTheIndex: with an index on time it is known how many rows have no date,
// or one that is taken for none, also when nothing is due, and without reading them; that it is
// most of the rows, too.
func TestRowsThatNeverExpireByTheIndex(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		const schema = "plan_never"
		makeNumbers(t, db, schema, 20_000)

		for i, c := range []struct {
			rows      int
			made      string // of row n
			null, odd int64
			counted   bool // exactly
			most      bool
		}{
			{20, "IF(n <= 15, NULL, '2030-01-01')", 15, 0, true, true},
			{20, "IF(n <= 5, '1969-01-01', '2030-01-01')", 0, 5, true, false},
			{20_000, "IF(n <= 12, NULL, IF(n <= 20, '1969-01-01', '2030-01-01'))", 12, 8, true, false},
			{20_000, "IF(n MOD 10 < 9, NULL, '2030-01-01')", 18_000, 0, false, true},
			// 20 are due
			{20_000, "IF(n MOD 10 < 8, NULL, IF(n MOD 1000 = 9, '2020-01-01', '2030-01-01'))", 16_000, 0, false, true},
			{20_000, "IF(n MOD 10 < 7, '1969-01-01', '2030-01-01')", 0, 14_000, false, true},
			{20_000, "IF(n MOD 10 < 3, NULL, '2030-01-01')", 6_000, 0, false, false},
		} {
			name := fmt.Sprintf("t%d", i)
			mustExec(t, db, fmt.Sprintf("CREATE TABLE %s.%s (id INT PRIMARY KEY, made DATETIME, KEY (made))",
				schema, name),
				fmt.Sprintf("INSERT INTO %s.%s SELECT n, %s FROM %[1]s.numbers WHERE n <= %[4]d", schema, name, c.made,
					c.rows), fmt.Sprintf("ANALYZE TABLE %s.%s", schema, name))
			f, s := statementsFor(t, db, schema, name)

			got, err := s.Estimate(t.Context(), db, f.Rows)
			if err != nil {
				t.Fatal(err)
			}

			near := func(got, want int64) bool {
				return got == want || !c.counted && want > 0 && got > want*3/4 && got < want*5/4
			}
			if !near(got.Null, c.null) || !near(got.Implausible, c.odd) || got.MostNeverExpire() != c.most {
				t.Errorf("%s: got %d without a date and %d with an odd one, most of them: %v; want %d, %d, %v",
					c.made, got.Null, got.Implausible, got.MostNeverExpire(), c.null, c.odd, c.most)
			}
		}
	})
}
