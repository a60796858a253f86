package ttl

import (
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// coming makes t with a partition for each of three days, perhaps one for all the rest, and a policy
// that has three days ready; it is noon of the last of them.
func (f *fixture) coming(rest string) (*moment, catalog.Policy) {
	f.T.Helper()
	return f.comingEvery("1h", rest)
}

func (f *fixture) comingEvery(interval, rest string) (*moment, catalog.Policy) {
	f.T.Helper()
	f.Exec("DROP TABLE IF EXISTS "+f.Schema+".t",
		"CREATE TABLE "+f.Schema+".t (id INT NOT NULL, made DATETIME NOT NULL, PRIMARY KEY (id, made)) "+
			"PARTITION BY RANGE (TO_DAYS(made)) (PARTITION p20270508 VALUES LESS THAN (TO_DAYS('2027-05-09')), "+
			"PARTITION p20270509 VALUES LESS THAN (TO_DAYS('2027-05-10')), "+
			"PARTITION p20270510 VALUES LESS THAN (TO_DAYS('2027-05-11'))"+rest+")")
	m := f.at(utc("05-10 12:00:00"))
	return m, m.declare("UTC", interval, map[string]string{ddl.OptionAhead: "3d"})
}

const allTheRest = ", PARTITION later VALUES LESS THAN MAXVALUE"

func (f *fixture) parts() string {
	f.T.Helper()
	return strings.ReplaceAll(f.Text(f.In("SELECT GROUP_CONCAT(partition_name ORDER BY partition_ordinal_position) "+
		"FROM information_schema.partitions WHERE table_schema = '{t}' AND table_name = 't'")), "p202705", "")
}

func (f *fixture) wantParts(want string) {
	f.T.Helper()
	if got := f.parts(); got != want {
		f.T.Errorf("there are partitions %s, want %s", got, want)
	}
}

// wantMade is wantParts for partitions that are made, if not yet, from a moment on: whoever locks tables on this
// server waits for a turn, which other tests may have, and tries again after a minute.
func (f *fixture) wantMade(at, want string) {
	f.T.Helper()
	patient := time.Now().Add(mysqltest.Patience)
	for now := utc(at); f.parts() != want && time.Now().Before(patient); now = now.Add(aheadEvery + time.Second) {
		f.at(now).pass()
	}
	f.wantParts(want)
}

// TestPartitionsAreMadeAhead: the next days are there before they begin, and are ours: what comes into them
// goes when it has expired, and nobody is asked.
func TestPartitionsAreMadeAhead(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		for rest, name := range map[string]string{"": "", allTheRest: ",later"} {
			m, p := f.coming(rest)
			m.pass()
			f.wantMade("05-10 12:01:01", "08,09,10,11,12,13"+name)

			f.Exec(f.In("INSERT INTO {t}.t VALUES (1, '2027-05-11 10:00:00'), (2, '2027-05-12 10:00:00')"))
			f.at(utc("05-12 11:00:00")).pass()
			f.wantMade("05-12 11:01:01", "08,09,10,11,12,13,14,15"+name)
			if got := f.Text(f.In("SELECT GROUP_CONCAT(id) FROM {t}.t")); got != "2" {
				t.Errorf("rows %s are left, want 2", got)
			}
			if got := f.Text(f.In("SELECT GROUP_CONCAT(DISTINCT kind ORDER BY kind) FROM {t}_c.event WHERE kind IN " +
				"('partition', 'held', 'followed', 'needs approval', 'disarmed')")); got != "partition" {
				t.Errorf("there were events %s, want only those of partitions", got)
			}
			if err := f.Store.Remove(t.Context(), catalog.Client{Account: "test"}, p.Table); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestNoPartitionFromOneWithRows: rows that came in when there was no partition for them are not moved about
// unasked. It is said once, and when they are gone the partitions are made.
func TestNoPartitionFromOneWithRows(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		m, p := f.coming(allTheRest)
		f.Exec(f.In("INSERT INTO {t}.t VALUES (1, '2027-05-12')"))
		m.pass()
		f.at(utc("05-10 12:01:01")).pass()
		f.wantParts("08,09,10,later")
		said := f.In("SELECT COUNT(*) FROM {t}_c.event WHERE text LIKE '%REORGANIZE PARTITION%'")
		if got := f.Text(said); got != "1" {
			t.Errorf("it was said %s times", got)
		}
		fates, err := plan.Fates(t.Context(), f.Admin, m.store.(plan.FateSource), p)
		if err != nil || !strings.Contains(fates[3].Text, "has rows, and would have to be copied") {
			t.Errorf("the fate of the last one is %+v, %v", fates, err)
		}

		f.wantStuck(p, "has rows, and would have to be copied")

		f.Exec(f.In("DELETE FROM {t}.t"))
		f.wantMade("05-10 12:02:02", "08,09,10,11,12,13,later")
		f.wantStuck(p, "")
	})
}

// wantStuck compares why no partitions can be made, as verdicts say it.
func (f *fixture) wantStuck(p catalog.Policy, want string) {
	f.T.Helper()
	stuck, err := f.Store.StuckAhead(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	if got := stuck[p.ID]; !strings.Contains(got, want) || want == "" && got != "" {
		f.T.Errorf("no partitions are made: %q, want %q", got, want)
	}
}

// TestSomebodyElseMakesPartitions: nothing is in the way any more when a person has made what could not be made.
func TestSomebodyElseMakesPartitions(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		m, p := f.coming(", PARTITION odd VALUES LESS THAN (TO_DAYS('2027-05-11') + 3)")
		m.pass()
		f.wantStuck(p, "make the next three yourself")

		f.Exec(f.In("ALTER TABLE {t}.t ADD PARTITION (PARTITION a VALUES LESS THAN (TO_DAYS('2027-05-15')), " +
			"PARTITION b VALUES LESS THAN (TO_DAYS('2027-05-16')), PARTITION c VALUES LESS THAN (TO_DAYS('2027-05-17')))"))
		f.at(utc("05-10 13:00:01")).pass() // a job looks what has become of the table
		f.at(utc("05-10 13:00:02")).pass()
		f.wantStuck(p, "")
	})
}

// TestAheadDoesNotWaitForAJob: a table that somebody has altered is examined when partitions are needed, and
// not only by its next job, which may come in weeks. Another table in its place gets none.
func TestAheadDoesNotWaitForAJob(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		for want, altered := range map[string][]string{
			"08,09,10,11,12,13,14,15": {"ALTER TABLE {t}.t ADD COLUMN note INT"},
			"08,09,10,11,12,13": {
				"CREATE TABLE {t}.u LIKE {t}.t", "ALTER TABLE {t}.u CHANGE id other INT NOT NULL",
				"RENAME TABLE {t}.t TO {t}.x, {t}.u TO {t}.t", "DROP TABLE {t}.x",
			},
		} {
			m, p := f.comingEvery("30d", "")
			m.pass()
			f.wantMade("05-10 12:01:01", "08,09,10,11,12,13")

			f.Exec("DO SLEEP(1.1)") // CREATE_TIME has whole seconds
			for _, each := range altered {
				f.Exec(f.In(each))
			}
			f.at(utc("05-12 11:00:00")).pass()
			f.wantMade("05-12 11:01:01", want)
			f.at(utc("05-12 11:01:01")).pass()
			f.wantParts(want)
			if err := f.Store.Remove(t.Context(), catalog.Client{Account: "test"}, p.Table); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestAJobIsNoReasonToLookAhead: a table that has enough partitions, or for which the server has refused some, is left
// alone for as long as it should be, whatever jobs begin meanwhile.
func TestAJobIsNoReasonToLookAhead(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		m, p := f.coming("")
		m = m.then(utc("05-10 12:00:01"))
		m = m.then(utc("05-10 12:00:02"))
		before, seen := m.aheads[p.ID]
		if !seen {
			t.Fatal("the table was not looked at")
		}
		jobs := f.jobs()
		aheads := m.aheads
		m = f.at(utc("05-10 13:00:03"))
		m.aheads = aheads
		for range 2 { // the second one knows which policies there are after the first has begun a job
			m.pass()
		}
		if f.jobs() == jobs {
			t.Fatal("no job has begun")
		}
		if now, seen := m.aheads[p.ID]; !seen || now.next != before.next {
			t.Errorf("after the start of a job %+v is known of the table, want %+v", now, before)
		}
	})
}

// TestAheadHoldsAtOnce turns every switch there is when partitions are about to be made: once it has
// answered, none are; nor are they of another table, or of a partition that has got a row.
func TestAheadHoldsAtOnce(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		ctx := t.Context()
		for name, turn := range map[string]func(catalog.Policy) error{
			"paused": func(p catalog.Policy) error { return f.Store.Pause(ctx, "test", p.ID, "", time.Time{}) },
			"removed": func(p catalog.Policy) error {
				return f.Store.Remove(ctx, catalog.Client{Account: "test"}, p.Table)
			},
			"frozen": func(catalog.Policy) error {
				f.Exec(f.In("UPDATE {t}_c.departure SET state_at = state_at - INTERVAL 10 SECOND"))
				return nil
			},
			"another node": func(catalog.Policy) error {
				f.Exec(f.In("UPDATE {t}_c.departure SET fence = fence + 1"))
				return nil
			},
			"a row": func(catalog.Policy) error {
				f.Exec(f.In("INSERT INTO {t}.t VALUES (1, '2027-05-12')"))
				return nil
			},
			"another table": func(catalog.Policy) error {
				f.Exec(f.In("CREATE TABLE {t}.u LIKE {t}.t"), f.In("RENAME TABLE {t}.t TO {t}.x, {t}.u TO {t}.t"),
					f.In("DROP TABLE {t}.x"))
				return nil
			},
		} {
			m, p := f.coming(allTheRest)
			if name == "another table" {
				f.Exec("DO SLEEP(1.1)") // CREATE_TIME has whole seconds
			}
			if err := m.session.Ready(ctx); err != nil {
				t.Fatal(err)
			}
			facts, err := tables.ReadFacts(ctx, m.session, f.Schema, "t")
			if err != nil {
				t.Fatal(err)
			}
			a, why := plan.AheadOf(facts, "made", utc("05-13 12:00:00"))
			if why != "" {
				t.Fatal(why)
			}
			turned := false
			_, err = work.MakeAhead(ctx, m.session, m.store, p, facts, a, work.Making{
				Limits: m.engine.workLimits(), Metrics: m.metrics.work, Stopped: func() string {
					if turned {
						return ""
					}
					turned = true
					if err := turn(p); err != nil {
						t.Error(err)
					}
					return ""
				},
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if got := f.parts(); got != "08,09,10,later" {
				t.Errorf("%s: there are partitions %s", name, got)
			}
			if name != "removed" {
				if err := f.Store.Remove(ctx, catalog.Client{Account: "test"}, p.Table); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
