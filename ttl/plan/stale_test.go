package plan

import (
	"database/sql"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestEstimateOfATableThatHasGrown: the statistics of a table lag behind an import, as after EXCHANGE PARTITION.
func TestEstimateOfATableThatHasGrown(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, server *mysqltest.Server) {
		schema := server.Database(t)
		db := server.Open(t, schema)
		const rows = 50_000
		makeNumbers(t, db, schema, rows)
		for name, key := range map[string]string{"keyed": "", "timed": ", KEY (made)"} {
			mustExec(t, db, "CREATE TABLE "+schema+"."+name+" (id INT PRIMARY KEY, made DATETIME"+key+")",
				"INSERT INTO "+schema+"."+name+" SELECT n, '2019-01-01' FROM "+schema+".numbers")
			_, s := statementsFor(t, db, schema, name)
			for _, said := range []int64{0, 16, 1997, countRows} {
				wantAll(t, db, s, said, rows)
			}
		}
	})
}

// wantAll demands that all rows are found due, whatever the statistics have said.
func wantAll(t *testing.T, db *sql.DB, s *Statements, said, rows int64) {
	t.Helper()
	e, err := s.Estimate(t.Context(), db, said)
	if err != nil {
		t.Fatal(err)
	}
	if e.Rows != rows || e.Expired != rows || !e.Exact {
		t.Errorf("where the statistics say %d rows: %s, want all of %d", said, e.Against(nil), rows)
	}
}
