package work

import (
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestRowsThatStayAreSeen: a look at expired rows tells the referenced ones from all others, whatever
// the key points at, and looks for their children only.
func TestRowsThatStayAreSeen(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		for _, statement := range []string{
			"CREATE TABLE {t}.parent (a INT, b VARCHAR(9), u INT, made DATETIME, " +
				"PRIMARY KEY (a, b), UNIQUE KEY (u), UNIQUE KEY (b, a))",
			"CREATE TABLE {t}.composite (a INT, b VARCHAR(9), FOREIGN KEY (a, b) REFERENCES {t}.parent (a, b))",
			"CREATE TABLE {t}.nullable (u INT, FOREIGN KEY (u) REFERENCES {t}.parent (u))",
			"CREATE TABLE {t}.crossed (a INT, b VARCHAR(9), FOREIGN KEY (b, a) REFERENCES {t}.parent (b, a))",
			"INSERT INTO {t}.parent VALUES (1, 'composite', 1, '2020-01-01'), (2, 'nobody', 2, '2020-01-01'), " +
				"(3, 'unique', 3, '2020-01-01'), (4, 'no value', NULL, '2020-01-01'), (5, 'crossed', 5, '2020-01-01'), " +
				"(6, 'young', 6, '2030-01-01')",
			"INSERT INTO {t}.composite VALUES (1, 'composite'), (1, 'composite'), (2, NULL), (NULL, 'nobody'), (6, 'young')",
			"INSERT INTO {t}.crossed VALUES (5, 'crossed'), (NULL, NULL)",
			"INSERT INTO {t}.nullable VALUES (3), (NULL)",
			// Whoever reads all of these instead of looking one up is found out.
			"INSERT INTO {t}.parent SELECT 10 * n, n, 10 * n, '2030-01-01' FROM (" + many + ") AS many WHERE n >= 100",
			"INSERT INTO {t}.composite SELECT a, b FROM {t}.parent WHERE a >= 1000",
			"INSERT INTO {t}.crossed SELECT a, b FROM {t}.parent WHERE a >= 1000",
			"INSERT INTO {t}.nullable SELECT u FROM {t}.parent WHERE a >= 1000",
			"ANALYZE TABLE {t}.parent, {t}.composite, {t}.crossed, {t}.nullable",
		} {
			f.Exec(f.In(statement))
		}

		session := f.engine.Session()
		defer session.Close()
		if err := session.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}

		s := f.sparing("parent").LookingUp()
		block, err := s.BlockKeys(plan.Range{})
		if err != nil {
			t.Fatal(err)
		}
		before := reads(t, session)
		rows, err := s.Find(t.Context(), session, block, len(s.Key))
		if err != nil {
			t.Fatal(err)
		}
		if n := reads(t, session) - before; n > f.Number(f.In("SELECT COUNT(*) FROM {t}.parent"))+100 {
			t.Errorf("%d rows were read to look for the children of 5: %s", n, block)
		}

		var stay []string
		for _, row := range rows {
			if row.Stays {
				stay = append(stay, string(row.At[0])+" of "+row.Date)
			}
		}
		const want = "1 of 2020-01-01 00:00:00, 3 of 2020-01-01 00:00:00, 5 of 2020-01-01 00:00:00"
		if got := strings.Join(stay, ", "); got != want || len(rows) != 5 {
			t.Errorf("of %d rows these stay: %s, want of 5: %s", len(rows), got, want)
		}
	})
}

// many counts to 999.
const many = "SELECT x.n + 10 * y.n + 100 * z.n AS n FROM " + digits + " AS x, " + digits + " AS y, " + digits + " AS z"

const digits = "(SELECT 0 AS n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 " +
	"UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)"

// sparing are the statements for a table of which referenced rows stay.
func (f *fixture) sparing(table string) *plan.Statements {
	f.T.Helper()
	facts, err := tables.ReadFacts(f.T.Context(), f.Admin, f.Schema, table)
	if err != nil {
		f.T.Fatal(err)
	}
	terms, err := catalog.Rule{
		Literal: "1", Unit: "DAY", JobInterval: "1h",
		Options: map[string]string{ddl.OptionForeignKeys: ddl.ForeignKeysSkip},
	}.Terms()
	if err != nil {
		f.T.Fatal(err)
	}
	staying, why, err := plan.ReadStaying(f.T.Context(), f.Admin, terms, &facts.Layout, facts.Children)
	if err != nil || why != "" {
		f.T.Fatal(why, err)
	}
	return plan.StatementsOf(&facts.Layout, "", "made", ttltest.Cutoff, ttltest.Floor, staying)
}

// reads is how many rows and index entries a session has read.
func reads(t *testing.T, s *Session) (n int) {
	t.Helper()
	rows, err := s.QueryContext(t.Context(), "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler_read%' "+
		"AND Variable_name NOT LIKE '%tmp%' AND Variable_name NOT LIKE '%deleted%'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var count int
		if err := rows.Scan(&name, &count); err != nil {
			t.Fatal(err)
		}
		n += count
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}
