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

// TestWhereIsOneCondition: nothing else can stand behind it, and what it leaves is part of the list.
func TestWhereIsOneCondition(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		for _, condition := range []string{
			"0 UNION SELECT -1, 'value'", "0 UNION ALL SELECT 0", "1) UNION SELECT (-1", "(1)) UNION SELECT ((0)",
			"1) -- ", "1 /* ) */ )", "1 ORDER BY Value", "1 GROUP BY Value", "1 HAVING 1", "1 FOR UPDATE",
			"1 /*! ) UNION SELECT ( */ -1",
		} {
			query := "SHOW TTL STATUS WHERE " + condition
			if code, message := refused(t, db, query); code != ddl.CodeSyntax ||
				!strings.Contains(message, "the right syntax is: SHOW TTL {NODES") {
				t.Errorf("%s: error %d (%s), want a syntax error", query, code, message)
			}
			if _, err := db.PrepareContext(t.Context(), query); err == nil {
				t.Errorf("%s can be prepared", query)
			}
		}

		for condition, want := range map[string]int{
			"Variable_name = 'Policies' -- one": 1, "Variable_name = 'Policies' # )": 1, "0 OR 0": 0,
			"(SELECT 1 UNION SELECT 1) AND Variable_name IN ('Policies', 'Nodes')": 2,
			"Value = ')' OR Variable_name = 'Nodes' /* ) */":                       1,
		} {
			if got := rows(t, db, "SHOW TTL STATUS WHERE "+condition); len(got) != want {
				t.Errorf("WHERE %s: got %q, want %d rows", condition, got, want)
			}
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
