package catalog

import (
	"database/sql"
	"maps"
	"regexp"
	"slices"
	"testing"
)

// TestConditionsAreCovered: the index that the history of a table is read by has every column that
// a condition can name, so that no line is read only to be left out.
func TestConditionsAreCovered(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		rows, err := b.db.QueryContext(t.Context(), b.sql("SELECT column_name FROM information_schema.statistics"+
			" WHERE CONCAT(table_schema, '.', table_name) = REPLACE('{job_history}', '`', '')"+
			" AND index_name = 'job_history_ended' ORDER BY seq_in_index"))
		if err != nil {
			t.Fatal(err)
		}

		index, err := collect(rows, func(r *sql.Rows) (name string, err error) { return name, r.Scan(&name) })
		if err != nil || len(index) < 4 || !slices.Equal(index[:4],
			[]string{"schema_name", "table_name", "finished_at", "job_id"}) {
			t.Fatalf("the index is led by %v, %v", index, err)
		}

		column := regexp.MustCompile(`h\.(\w+)`)
		for _, name := range slices.Sorted(maps.Keys(onHistory)) {
			if of := column.FindStringSubmatch(onHistory[name].sql); !slices.Contains(index, of[1]) {
				t.Errorf("%s is judged by %s, which the index does not have: %v", name, of[1], index)
			}
		}
	})
}
