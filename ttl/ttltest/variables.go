package ttltest

import (
	"database/sql"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// Variables are those of a scope: SESSION or GLOBAL.
func Variables(t *testing.T, q tables.Querier, scope string) map[string]string {
	t.Helper()
	rows, err := q.QueryContext(t.Context(), "SHOW "+scope+" VARIABLES")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()

	all := map[string]string{}
	for rows.Next() {
		var name string
		var value sql.NullString
		if err := rows.Scan(&name, &value); err != nil {
			t.Fatal(err)
		}
		all[name] = value.String
	}

	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}

	return all
}

// ReadsTheServersClock fails the test if a session reads a clock that somebody has stopped.
func ReadsTheServersClock(t *testing.T, name string, session tables.Querier) {
	t.Helper()
	var off int
	err := session.QueryRowContext(t.Context(), "SELECT ABS(TIMESTAMPDIFF(SECOND, NOW(), SYSDATE()))").Scan(&off)
	if err != nil || off > 60 {
		t.Errorf("the clock that a session of the %s reads is off by %d s, %v", name, off, err)
	}
}

// Stray is a trigger that leaves much behind in the session that it runs in.
const Stray = "CREATE TRIGGER {t}.stray AFTER DELETE ON {t}.t FOR EACH ROW SET SESSION time_zone = '-12:00', " +
	"timestamp = 2000000000," +
	" sql_select_limit = 1, innodb_lock_wait_timeout = 90, lock_wait_timeout = 90, wait_timeout = 900"
