package ttl

import (
	"strconv"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestIdleTablesCostNothing: a tick of an engine whose tables are not due sends the same few
// statements, and reads the same few rows of the catalog, whether there is one table or two
// hundred. A node that does not lead only asks for jobs.
func TestIdleTablesCostNothing(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 2)
		now := utc("05-10 12:00:00")
		m := f.at(now)
		m.declare("UTC", "24h", nil)
		m.pass()
		leader, follower := f.at(now.Add(time.Minute)), f.at(now.Add(time.Minute))

		statements, rows := leader.cost()
		if statements > 8 {
			t.Errorf("a tick with one table sends %d statements", statements)
		}

		f.copyPolicy(200)
		if more, moreRows := leader.cost(); more > statements || moreRows > rows+10 {
			t.Errorf("a tick with 200 tables sends %d statements and reads %d rows, with one %d and %d",
				more, moreRows, statements, rows)
		}
		if statements, _ := follower.cost(); statements > 2 {
			t.Errorf("a tick of a node that does not lead sends %d statements", statements)
		}
	})
}

// cost is what the cheapest of some ticks costs the catalog: some of them renew leases and read
// settings.
func (m *moment) cost() (statements, rows int) {
	m.f.T.Helper()
	m.db.SetMaxOpenConns(1) // so that one session sees everything
	counters := func() (statements, rows int) {
		statements = m.counter("SHOW SESSION STATUS LIKE 'Questions'")
		rows = m.counter("SHOW SESSION STATUS LIKE 'Handler_read_next'") +
			m.counter("SHOW SESSION STATUS LIKE 'Handler_read_rnd_next'")
		return statements, rows
	}

	statements, rows = 1<<30, 1<<30
	for range 12 {
		beforeStatements, beforeRows := counters()
		m.mustTick()
		afterStatements, afterRows := counters()
		statements = min(statements, afterStatements-beforeStatements-3) // without the counters' own
		rows = min(rows, afterRows-beforeRows)
	}

	return statements, rows
}

func (m *moment) counter(query string) (n int) {
	m.f.T.Helper()
	var name string
	if err := m.db.QueryRowContext(m.f.T.Context(), query).Scan(&name, &n); err != nil {
		m.f.T.Fatal(err)
	}
	return n
}

// copyPolicy gives the only policy siblings that ran when it did.
func (f *fixture) copyPolicy(n int) {
	f.T.Helper()
	c := f.Schema + "_c."
	columns := f.Text("SELECT GROUP_CONCAT(COLUMN_NAME ORDER BY ORDINAL_POSITION) FROM information_schema.COLUMNS " +
		"WHERE TABLE_SCHEMA = '" + f.Schema +
		"_c' AND TABLE_NAME = 'policy' AND COLUMN_NAME NOT IN ('id', 'table_name') AND EXTRA NOT LIKE '%GENERATED%'")
	for have := 1; have < n; have *= 2 {
		f.Exec("INSERT INTO " + c + "policy (table_name, " + columns + ") SELECT CONCAT('copy', id, '_', " +
			strconv.Itoa(have) + "), " + columns + " FROM " + c + "policy")
	}
	f.Exec("INSERT INTO "+c+"pause (policy_id, reason, held_reason) SELECT id, '', '' FROM "+c+
		"policy WHERE id NOT IN (SELECT policy_id FROM "+c+"pause)",
		"INSERT INTO "+c+
			"schedule (policy_id, last_state, last_started_at) SELECT id, 'finished', '2027-05-10 12:00:00' FROM "+c+
			"policy WHERE id NOT IN (SELECT policy_id FROM "+c+"schedule)")
}
