package statement

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
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

// TestLongOptionsAreShown: what a table says is not cut, nor missing.
func TestLongOptionsAreShown(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		rate := "100" + strings.Repeat(", mon 01:00-02:00 200", 100)
		window := "mon 22:00-23:00" + strings.Repeat("; tue 22:00-23:00", 100)
		b.declare(t, "orders", func(r *catalog.Rule) {
			r.Options = map[string]string{ddl.OptionDeleteRate: rate, ddl.OptionWindow: window}
		})
		query := "SHOW TTL TABLES WHERE Delete_rate = '" + rate + "' AND `Window` = '" + window + "'"
		if got := rows(t, db, query); len(got) != 1 || !strings.Contains(got[0], "|"+window+"|") {
			t.Errorf("as text: got %q", got)
		}
		st, err := db.PrepareContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		if n := count(t, st); n != 1 {
			t.Errorf("prepared: got %d rows", n)
		}
	})
}
