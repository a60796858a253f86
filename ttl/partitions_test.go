package ttl

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestPartitionsNotDueCostNothing: of a table with four hundred partitions, two of which are due, two
// are looked at: the catalog and the server are asked as little as if there were no others.
func TestPartitionsNotDueCostNothing(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		now, sent, took := utc("05-10 12:00:00"), map[int][3]int{}, map[int]time.Duration{}
		for _, partitions := range []int{2, 400} {
			t.Run(strconv.Itoa(partitions), func(t *testing.T) {
				f := newFixture(t, cfg, 0)
				f.divide(now, partitions)
				m := f.at(now)
				m.db.SetMaxOpenConns(1) // so that one session sees everything
				before, began := m.asked(), time.Now()
				m.declare("UTC", "24h", nil)
				starting := m.starting()
				m.pass()
				sent[partitions], took[partitions] = [3]int{starting, m.asked() - before, m.packets}, time.Since(began)

				ended := "SELECT LEFT(GROUP_CONCAT(CONCAT(partition_name, ' ', deleted) ORDER BY job_id), 40) FROM " +
					f.Schema + "_c.job_history"
				if got, want := f.Text(ended), "p0 2,p1 1"; got != want {
					t.Errorf("jobs of %q, want %q", got, want)
				}
				if got := f.Rows("t"); got != "2" {
					t.Errorf("%s rows are left, want 2", got)
				}
			})
		}

		// Settings are read every few seconds, and leases renewed.
		byTheClock := 10 + int(max(0, took[400]-took[2]).Seconds())
		for n, who := range []string{"the server", "the catalog", "for deleting"} {
			if sent[400][n] > sent[2][n]+byTheClock {
				t.Errorf("%s: %d statements for 400 partitions, two of which are due; for two %d",
					who, sent[400][n], sent[2][n])
			}
		}
	})
}

// TestPartitionsThatAreGoneAreForgotten: what is no longer a partition is in no list, and is not
// late.
func TestPartitionsThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		now := utc("05-10 12:00:00")
		f.divide(now, 4)
		m := f.at(now)
		m.declare("UTC", "1h", nil)
		m.pass()

		places := "SELECT GROUP_CONCAT(partition_name ORDER BY partition_name) FROM " + f.Schema + "_c.schedule " +
			"WHERE partition_name <> ''"
		if got := f.Text(places); got != "p0,p1" {
			t.Errorf("partitions %s have run, want p0,p1", got)
		}

		f.Exec("ALTER TABLE " + f.Schema + ".t DROP PARTITION p0")
		f.at(now.Add(25 * time.Hour)).pass()
		if got := f.Text(places); got != "p1,p2" {
			t.Errorf("partitions %s have run, want p1,p2", got)
		}
	})
}

// divide makes t, whose partitions but the first and the last are a day each, from the day before
// on; rows are in the first ones, and in the last.
func (f *fixture) divide(now time.Time, n int) {
	f.T.Helper()
	var parts []string
	for i := range n - 1 {
		day := now.AddDate(0, 0, i-1).Format(time.DateOnly)
		parts = append(parts, fmt.Sprintf("PARTITION p%d VALUES LESS THAN (TO_DAYS('%s'))", i, day))
	}
	parts = append(parts, fmt.Sprintf("PARTITION p%d VALUES LESS THAN MAXVALUE", n-1))
	f.Exec("DROP TABLE IF EXISTS "+f.Schema+".t",
		"CREATE TABLE "+f.Schema+".t (id INT NOT NULL, made DATETIME NOT NULL, PRIMARY KEY (id, made)) "+
			"PARTITION BY RANGE (TO_DAYS(made)) ("+strings.Join(parts, ", ")+")",
		"INSERT INTO "+f.Schema+".t VALUES (1, '2027-05-01'), (2, '2027-05-08'), (3, '2027-05-09 11:59:59'), "+
			"(4, '2027-05-09 12:00:00'), (5, '2037-01-01')")
}

// starting is how many statements the engine's own session sends to start what is due, beside those
// for which it is opened.
func (m *moment) starting() (statements int) {
	m.f.T.Helper()
	ctx := m.f.T.Context()
	if err := m.session.Ready(ctx); err != nil {
		m.f.T.Fatal(err)
	}

	before := m.askedBy(m.session)
	m.mustTick()
	if jobs := m.f.Text("SELECT COUNT(*) FROM " + m.f.Schema + "_c.job"); jobs != "2" {
		m.f.T.Errorf("%s jobs have started, want 2", jobs)
	}

	return m.askedBy(m.session) - before
}

// asked is how many statements the catalog has been sent by the session that is the only one.
func (m *moment) asked() int {
	m.f.T.Helper()
	return m.askedBy(m.db)
}

func (m *moment) askedBy(q tables.Querier) (n int) {
	m.f.T.Helper()
	var name string
	if err := q.QueryRowContext(m.f.T.Context(), "SHOW SESSION STATUS LIKE 'Questions'").Scan(&name, &n); err != nil {
		m.f.T.Fatal(err)
	}
	return n
}
