package statement

import (
	"database/sql"
	"testing"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// TestListsOfATableInASchema: a table can be named with its schema behind it, as SHOW COLUMNS lets one do.
func TestListsOfATableInASchema(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		b.declare(t, "visits")
		run(t, db, "USE information_schema")
		for query, want := range map[string]int{
			"SHOW TTL TABLES FOR orders FROM " + b.schema:                       1,
			"SHOW TTL JOBS FOR orders IN " + b.schema:                           1,
			"SHOW TTL EVENTS FOR " + b.schema + ".orders FROM " + b.schema:      1,
			"SHOW TTL TABLES FOR orders FROM " + b.schema + " LIKE 'x'":         0,
			"SHOW TTL TABLES FOR visits FROM `" + b.schema + "` WHERE Ttl <> 1": 1,
		} {
			if got := rows(t, db, query); len(got) != want {
				t.Errorf("%s: got %q, want %d rows", query, got, want)
			}
		}
		if code, message := refused(t, db, "SHOW TTL JOBS FOR orders FROM mysql"); code != 1146 {
			t.Errorf("of a table that is not there: error %d (%s)", code, message)
		}
		query := "SHOW TTL JOBS FOR " + b.schema + ".orders FROM mysql"
		if code, message := refused(t, db, query); code != ddl.CodeSyntax {
			t.Errorf("%s: error %d (%s), want a syntax error", query, code, message)
		}
	})
}
