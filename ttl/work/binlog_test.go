package work

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestDeletesAreInTheBinaryLog: replicas and backups hear of every batch, and people of the policy
// behind it.
func TestDeletesAreInTheBinaryLog(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 100)
		table := f.serverTable()
		logged := f.logged()
		if n, err := table.deleteRange(t.Context(), plan.Range{}, checkpoint{}); err != nil || n != 50 {
			t.Fatal(n, err)
		}

		events := logged()
		said := slices.IndexFunc(events, func(e string) bool {
			return strings.Contains(e, "/* ttlproxy job=1 task=1 policy=1 v=1 */ "+withoutWaitingOn(f.Store.Server())+
				"DELETE ")
		})
		if said < 0 || !slices.ContainsFunc(events[said:],
			func(e string) bool { return strings.Contains(strings.ToLower(e), "\tdelete_rows") }) {
			t.Errorf("the log does not tell of the batch:\n%s", strings.Join(events, "\n"))
		}
	})
}

// TestCascadesInTheBinaryLog: what goes by a cascade is in the log of MySQL since 9.6, and in that of
// MariaDB only its parent. Triggers of children run on neither.
func TestCascadesInTheBinaryLog(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 100)
		table := f.cascading()
		f.Exec(f.In("CREATE TABLE {t}.fired (id INT PRIMARY KEY)"),
			f.In("CREATE TRIGGER {t}.fires AFTER DELETE ON {t}.child FOR EACH ROW INSERT INTO {t}.fired VALUES (OLD.id)"))
		logged, keys := f.logged(), []tables.Key{{"1"}, {"3"}}
		done, err := table.deleteAlong(t.Context(), keys, checkpoint{cursor: keys[1]}, bounds{along: 100, listed: 100})
		if err != nil || done.rows != 6 || f.left() != "98/98/98" {
			t.Fatalf("got %+v, %v, and %s rows are left; want 98/98/98", done, err, f.left())
		}

		events := logged()
		for table, there := range map[string]bool{"t": true, "grandchild": !f.Store.Server().MariaDB} {
			if got := f.saysDeleted(events, table); got != there {
				t.Errorf("rows of %s are in the log: %v, want %v; it is\n%s", table, got, there, strings.Join(events, "\n"))
			}
		}
		if fired := f.Rows("fired"); fired != "0" {
			t.Errorf("a trigger of the child ran for %s rows, want none", fired)
		}
	})
}

// saysDeleted reports whether a binary log has rows of a table that were deleted.
func (f *fixture) saysDeleted(events []string, table string) bool {
	name := " (" + f.Schema + "." + table + ")"
	return slices.ContainsFunc(events, func(opens string) bool {
		if !strings.HasSuffix(opens, name) {
			return false
		}
		id := opens[strings.Index(opens, "table_id: "):strings.LastIndex(opens, name)] + " "
		return slices.ContainsFunc(events, func(e string) bool {
			return strings.Contains(strings.ToLower(e), "\tdelete_rows") && strings.Contains(e, id)
		})
	})
}

// logged returns what the binary log has from now on.
func (f *fixture) logged() func() []string {
	f.T.Helper()
	status := "SHOW BINARY LOG STATUS"
	if f.Store.Server().MariaDB {
		status = "SHOW MASTER STATUS"
	}
	file, position, _ := strings.Cut(f.lines(status)[0], "\t")
	position, _, _ = strings.Cut(position, "\t")
	return func() []string { return f.lines("SHOW BINLOG EVENTS IN '" + file + "' FROM " + position) }
}

// lines returns the rows of a statement, their columns separated by tabs.
func (f *fixture) lines(statement string) (all []string) {
	f.T.Helper()
	rows, err := f.Admin.QueryContext(f.T.Context(), statement)
	if err != nil {
		f.T.Fatal(err)
	}
	defer rows.Close()

	columns, err := rows.Columns()
	if err != nil {
		f.T.Fatal(err)
	}

	values, into := make([]string, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}

	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			f.T.Fatal(err)
		}
		all = append(all, strings.Join(values, "\t"))
	}

	if err := rows.Err(); err != nil {
		f.T.Fatal(err)
	}

	return all
}
