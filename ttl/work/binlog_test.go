package work

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestDeletesAreInTheBinaryLog: replicas and backups hear of every batch, and people of the policy
// behind it.
func TestDeletesAreInTheBinaryLog(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 100)
		table := f.serverTable()
		status := "SHOW BINARY LOG STATUS"
		if f.Store.Server().MariaDB {
			status = "SHOW MASTER STATUS"
		}

		before := f.lines(status)[0]
		file, position, _ := strings.Cut(before, "\t")
		position, _, _ = strings.Cut(position, "\t")
		if n, err := table.deleteRange(t.Context(), plan.Range{}, checkpoint{}); err != nil || n != 50 {
			t.Fatal(n, err)
		}

		events := f.lines("SHOW BINLOG EVENTS IN '" + file + "' FROM " + position)
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
