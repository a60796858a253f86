package plan

import (
	"database/sql"
	"fmt"
	"testing"
)

// TestSurveyCountsWhatIsCheap: small tables and few due rows are counted, whatever the statistics say.
func TestSurveyCountsWhatIsCheap(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		const schema, stale = "plan_survey", 1_000_000
		makeNumbers(t, db, schema, 30_000)
		// Every tenth row is due, each of a second of its own.
		const made = "IF(n MOD 10 = 0, TIMESTAMP'2020-01-01 00:00:00' + INTERVAL n SECOND, '2030-01-01')"
		for _, c := range []struct {
			name, key string
			rows      int
			want      Estimate
		}{
			{"tiny", "", 30, Estimate{Rows: 30, Expired: 3, Exact: true, DueExact: true, Oldest: "2020-01-01 00:00:10", Newest: "2020-01-01 00:00:30"}},
			{"empty", "", 0, Estimate{Exact: true, DueExact: true}},
			{"tiny_indexed", ", KEY (made)", 30, Estimate{Rows: 30, Expired: 3, Exact: true, DueExact: true, Oldest: "2020-01-01 00:00:10", Newest: "2020-01-01 00:00:30"}},
			{"indexed", ", KEY (made)", 30_000, Estimate{Expired: 3000, DueExact: true, Oldest: "2020-01-01 00:00:10", Newest: "2020-01-01 08:20:00"}},
			{"sampled", "", 30_000, Estimate{}},
		} {
			t.Run(c.name, func(t *testing.T) {
				mustExec(t, db,
					fmt.Sprintf("CREATE TABLE %s.%s (id INT PRIMARY KEY, made DATETIME%s)", schema, c.name, c.key),
					fmt.Sprintf("INSERT INTO %s.%s SELECT n, "+made+" FROM %[1]s.numbers WHERE n <= %[3]d", schema, c.name, c.rows))
				_, s := statementsFor(t, db, schema, c.name)
				got, err := s.Survey(t.Context(), db, stale)
				if err != nil {
					t.Fatal(err)
				}
				if c.name == "sampled" {
					if got.Exact || got.DueExact || got.Oldest == "" || got.Newest < got.Oldest {
						t.Errorf("got %+v, want estimates", got)
					}
					return
				}
				if !c.want.Exact {
					got.Rows = 0 // estimated
				}
				got.Edge, got.segments, got.Correlated, got.Head = nil, nil, false, ""
				if fmt.Sprint(got) != fmt.Sprint(c.want) {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
			})
		}
	})
}
