package statement

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// TestComputedColumnsGetOtherDates alters the columns from which a TTL column is computed: where its dates may be
// others afterwards, no approval covers them.
func TestComputedColumnsGetOtherDates(t *testing.T) {
	// MySQL refuses to drop and rename columns that others are computed from, MariaDB fractions in them.
	refused := []uint16{3108, 1901}
	onStage(t, func(t *theatre) {
		for n, c := range []struct {
			alter  string
			others bool
		}{
			{"MODIFY base DATETIME AS (other) STORED", true},
			{"MODIFY base DATETIME AS ('2001-01-01') STORED", true},
			{"MODIFY base DATE", true},
			{"MODIFY base TIMESTAMP NULL", true},
			{"DROP COLUMN base, ADD COLUMN base DATETIME DEFAULT '2001-01-01'", true},
			{"CHANGE base was DATETIME, CHANGE other base DATETIME", true},
			{"RENAME COLUMN base TO was, RENAME COLUMN other TO base", true},
			{"MODIFY days INT AS (-9000) STORED", true},
			{"MODIFY half DATETIME AS (other) STORED", true},
			{"MODIFY half DATETIME AS (base + INTERVAL 2 DAY) STORED", true},
			{"MODIFY base DATETIME(3)", false},
			{"MODIFY days BIGINT", false},
			{"MODIFY other DATE", false},
			{"ADD COLUMN x INT FIRST", false},
			{"RENAME COLUMN other TO x", false},
			{"CHANGE base started DATETIME", false},
		} {
			table := catalog.Table{Schema: t.schema, Name: fmt.Sprintf("t%d", n)}
			t.exec("CREATE TABLE " + table.Name + " (id INT PRIMARY KEY, base DATETIME, other DATETIME, days INT, " +
				"half DATETIME AS (base + INTERVAL 1 DAY) STORED, " +
				"exp DATETIME AS (half + INTERVAL days DAY) STORED) TTL = exp + INTERVAL 10 HOUR")
			p, err := t.store.Policy(t.Context(), table)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := t.store.Consent(t.Context(), "dba", p.ID, p.Version, catalog.Consent{}); err != nil {
				t.Fatal(err)
			}
			if _, err := t.db.ExecContext(t.Context(), "ALTER TABLE "+table.Name+" "+c.alter); err != nil {
				my, answered := errors.AsType[*mysql.MySQLError](err)
				if !answered || !slices.Contains(refused, my.Number) {
					t.Errorf("%s: %v", c.alter, err)
				}
				continue
			}
			p, err = t.store.Policy(t.Context(), table)
			if err != nil || !p.Armed() || p.Approved() == c.others {
				t.Errorf("%s: got %+v, %v, want it approved: %v", c.alter, p, err, !c.others)
			}
		}
	})
}
