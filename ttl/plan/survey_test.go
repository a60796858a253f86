package plan

import (
	"database/sql"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// TestSurveyCountsWhatIsCheap: small tables and few due rows are counted, whatever the statistics
// say.
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
			{"tiny", "", 30, Estimate{
				Rows: 30, Expired: 3, Exact: true, DueExact: true, Oldest: "2020-01-01 00:00:10",
				Newest: "2020-01-01 00:00:30",
			}},
			{"empty", "", 0, Estimate{Exact: true, DueExact: true}},
			{
				"tiny_indexed", ", KEY (made)", 30,
				Estimate{
					Rows: 30, Expired: 3, Exact: true, DueExact: true, Oldest: "2020-01-01 00:00:10",
					Newest: "2020-01-01 00:00:30",
				},
			},
			{
				"indexed", ", KEY (made)", 30_000,
				Estimate{Expired: 3000, DueExact: true, Oldest: "2020-01-01 00:00:10", Newest: "2020-01-01 08:20:00"},
			},
			{"sampled", "", 30_000, Estimate{}},
		} {
			t.Run(c.name, func(t *testing.T) {
				mustExec(t, db,
					fmt.Sprintf("CREATE TABLE %s.%s (id INT PRIMARY KEY, made DATETIME%s)", schema, c.name, c.key),
					fmt.Sprintf("INSERT INTO %s.%s SELECT n, "+made+" FROM %[1]s.numbers WHERE n <= %[3]d",
						schema, c.name, c.rows))
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

// TestPreviewLooksAhead: what becomes due on each day is counted where that is cheap, and else
// estimated well.
func TestPreviewLooksAhead(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		const schema = "plan_days"
		makeNumbers(t, db, schema, 30_000)
		now := time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)

		// A row each minute, backwards from now: on the first two days 1440 become due, then none.
		for _, c := range []struct {
			name, key string
			minutes   int
			exact     bool
		}{
			{"small", "", 4000, true},
			{"indexed", ", KEY (made)", 30_000, true},
			{"sampled", "", 30_000, false},
		} {
			t.Run(c.name, func(t *testing.T) {
				mustExec(t, db,
					fmt.Sprintf("CREATE TABLE %s.%s (id INT PRIMARY KEY, made DATETIME%s)", schema, c.name, c.key),
					fmt.Sprintf("INSERT INTO %s.%s SELECT n, '2026-03-10 00:00:00' - INTERVAL n MINUTE FROM "+
						"%[1]s.numbers WHERE n <= %[3]d", schema, c.name, c.minutes),
					fmt.Sprintf("ANALYZE TABLE %s.%s", schema, c.name))

				rule := catalog.Rule{
					Column: "made", Literal: "2", Unit: "DAY", Enabled: true, JobInterval: "1h",
					TimeZone: "UTC", ZoneSource: catalog.ZoneFromTable,
				}
				terms, err := rule.Terms()
				if err != nil {
					t.Fatal(err)
				}

				p, err := NewPreview(t.Context(), db, Question{
					Table: catalog.Table{Schema: schema, Name: c.name}, Now: now, Floor: DefaultFloor, IndexScan: true,
					Rule: rule, Terms: terms,
				})
				if err != nil {
					t.Fatal(err)
				}

				for i, d := range p.Next {
					want := 0.0
					if i < 2 {
						want = 24 * 60
					}
					if d.Exact != c.exact || c.exact && float64(d.Rows) != want ||
						math.Abs(float64(d.Rows)-want) > want/2+200 {
						t.Errorf("day %d: got %+v, want %v rows, exact %v", i, d, want, c.exact)
					}
				}

				if p.Seen == nil || p.Seen.Sampled != (c.name == "sampled") || p.Seen.NewestDue == "" {
					t.Errorf("got %+v", p.Seen)
				}
			})
		}
	})
}
