package ttl

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestAsidesAreJudgedAgain: what a partition has become is dropped when its grace is over only if all that is in
// it then has expired by the rule as it is then. Whatever is said meanwhile holds for it, too, and so it is kept for
// longer, which is said once. Nobody has to do anything when the reason is gone.
func TestAsidesAreJudgedAgain(t *testing.T) {
	t.Parallel()
	const both = "ttlproxy_2_p1,ttlproxy_3_p2"
	exchange := func(grace string) map[string]string {
		return map[string]string{ddl.OptionPartition: ddl.PartitionExchange, ddl.OptionGrace: grace}
	}
	run := func(statements ...string) func(*fixture, *moment, catalog.Policy) {
		return func(f *fixture, _ *moment, _ catalog.Policy) {
			for _, s := range statements {
				f.Exec(f.In(s))
			}
		}
	}
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, c := range map[string]struct {
			before     []string // the partitions go
			meanwhile  func(*fixture, *moment, catalog.Policy)
			kept, why  string
			afterwards func(*fixture, *moment, catalog.Policy)
		}{
			"a longer interval": {
				nil, func(_ *fixture, m *moment, _ catalog.Policy) { m.declareDays(30, "UTC", "24h", exchange("1h")) },
				both, "2 rows in it have not expired",
				func(_ *fixture, m *moment, _ catalog.Policy) { m.declareDays(1, "UTC", "24h", exchange("1h")) },
			},
			"a longer interval, by an index": {
				[]string{"ALTER TABLE {t}.t ADD KEY (made)"},
				func(_ *fixture, m *moment, _ catalog.Policy) { m.declareDays(30, "UTC", "24h", exchange("1h")) },
				both, "2 rows in it have not expired",
				func(_ *fixture, m *moment, _ catalog.Policy) { m.declareDays(1, "UTC", "24h", exchange("1h")) },
			},
			"a row was put there": {
				nil, run("INSERT INTO {t}.ttlproxy_2_p1 VALUES (77, '2030-01-01')"),
				"ttlproxy_2_p1", "1 rows in it have not expired", run("DELETE FROM {t}.ttlproxy_2_p1 WHERE id = 77"),
			},
			"a row without a date was put there, without a key": {
				[]string{"ALTER TABLE {t}.t DROP PRIMARY KEY, MODIFY made DATETIME"},
				run("INSERT INTO {t}.ttlproxy_2_p1 VALUES (77, NULL)"),
				"ttlproxy_2_p1", "1 rows in it have not expired", run("DELETE FROM {t}.ttlproxy_2_p1"),
			},
			"a later floor": {
				nil, func(f *fixture, _ *moment, _ catalog.Policy) { f.set(setting.DateFloor, "2027-05-10") },
				"ttlproxy_2_p1", "2 rows in it have not expired",
				func(f *fixture, _ *moment, _ catalog.Policy) { f.set(setting.DateFloor, "1970-01-02") },
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.days()
				for _, s := range c.before {
					f.Exec(f.In(s))
				}
				m := f.at(utc("05-12 12:00:00"))
				p := m.exchanges("24h")
				m.pass()
				f.wantSides(both)

				c.meanwhile(f, f.at(utc("05-12 12:10:00")), p)
				for _, at := range []string{"05-12 13:00:01", "05-12 13:30:00", "05-12 14:00:03"} {
					f.at(utc(at)).pass()
					f.wantSides(c.kept)
				}
				if got := f.Text(f.In("SELECT reason FROM {t}_c.departure WHERE partition_name = 'p1'")); !strings.HasPrefix(got,
					c.why) {
					t.Errorf("the reason is %q", got)
				}
				if got := f.Text(f.In("SELECT COUNT(*) FROM {t}_c.event WHERE kind = 'partition' AND text LIKE '%p1%longer%'")); got !=
					"1" {
					t.Errorf("%s events say that it is kept for longer", got)
				}

				c.afterwards(f, f.at(utc("05-12 14:10:00")), p)
				f.at(utc("05-12 15:00:06")).pass()
				f.wantSides("")
			})
		}
	})
}

// TestLongerGrace: what is kept already is kept for a longer grace, once there is one; never for a shorter one.
func TestLongerGrace(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.putAside()
		for _, grace := range []string{"3h", "1m"} {
			f.at(utc("05-12 12:10:00")).declare("UTC", "24h", map[string]string{
				ddl.OptionPartition: ddl.PartitionExchange, ddl.OptionGrace: grace,
			})
		}
		f.at(utc("05-12 14:59:59")).pass()
		f.wantSides("ttlproxy_2_p1,ttlproxy_3_p2")
		f.at(utc("05-12 15:00:01")).pass()
		f.wantSides("")
	})
}

// TestAsideAtTheLastMoment: what is put into the table that a partition has become, when that was judged and is
// about to be dropped, keeps it, with an index on time or without one.
func TestAsideAtTheLastMoment(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, alter := range map[string]string{
			"indexed": "ADD KEY (made)", "counted": "COMMENT = 'x'", "large": "COMMENT = 'x'",
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.days()
				f.Exec(f.In("ALTER TABLE {t}.t " + alter))
				m := f.at(utc("05-12 12:00:00"))
				m.exchanges("24h")
				m.pass()
				if name == "large" {
					f.large("ttlproxy_2_p1")
				}

				m = f.at(utc("05-12 13:00:01"))
				m.engine.crew.BeforePacket = func() {
					f.Exec(f.In("INSERT IGNORE INTO {t}.ttlproxy_2_p1 SELECT 77, '2030-01-01' FROM {t}_c.departure " +
						"WHERE partition_name = 'p1' AND state = 'ending'"))
				}
				m.passUntil("p1 to be dropped, or a row to be there that forbids it", func() bool {
					return f.Text(f.In("SELECT COUNT(*) FROM {t}.ttlproxy_2_p1 WHERE id = 77")) == "1"
				})
				f.wantSides("ttlproxy_2_p1")
				f.at(utc("05-12 15:00:00")).pass()
				f.wantSides("ttlproxy_2_p1")
			})
		}
	})
}

// putAside has two days become tables.
func (f *fixture) putAside() {
	f.days()
	m := f.at(utc("05-12 12:00:00"))
	m.exchanges("24h")
	m.pass()
}

// large gives the table that a partition has become more rows than can be read while it is locked.
func (f *fixture) large(side string) {
	f.Exec(f.In("INSERT INTO {t}." + side + " SELECT 1000 + a.n + 400 * b.n, '2020-01-01' FROM " +
		"(WITH RECURSIVE d AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM d WHERE n < 399) SELECT n FROM d) a, " +
		"(WITH RECURSIVE d AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM d WHERE n < 399) SELECT n FROM d) b"))
	f.Wait("the second in which it was written to be over", f.NextSecond())
}

// TestLargeAsideIsDropped: one of which nobody can say in a moment that nothing stays goes all the same, when nobody has
// written to it since it was counted.
func TestLargeAsideIsDropped(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.putAside()
		f.large("ttlproxy_2_p1")
		f.at(utc("05-12 13:00:01")).ticksUntilDropped()
	})
}

// TestLargeAsideAgainstAnImport: rows that are imported into it when it has been counted, of which its id tells
// nothing, and nothing that says when it was written to.
func TestLargeAsideAgainstAnImport(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mysqltest.Shared(t, sandbox.MySQL).Config(""), 0)
	files := f.Text("SELECT @@datadir")
	f.putAside()
	if _, err := os.Stat(filepath.Join(files, f.Schema)); err != nil {
		t.Skip("the server's files are not here")
	}
	f.Exec(f.In("CREATE TABLE {t}.u LIKE {t}.ttlproxy_2_p1"), f.In("INSERT INTO {t}.u VALUES (9, '2030-01-01')"))
	f.large("ttlproxy_2_p1")
	m, once := f.at(utc("05-12 13:00:01")), false
	m.engine.crew.BeforePacket = func() {
		if !once && f.Text(f.In("SELECT state FROM {t}_c.departure WHERE partition_name = 'p1'")) == "ending" {
			once = true
			f.importOver("ttlproxy_2_p1", "", "ttlproxy_2_p1", files)
		}
	}
	m.passUntil("p1 to be dropped", func() bool { return once })
	f.wantSides("ttlproxy_2_p1")
	f.at(utc("05-12 15:00:00")).pass()
	f.wantSides("ttlproxy_2_p1")
}

// TestLargeAsideIsCountedInGoes: counting one keeps the ticker from nothing else for long, and goes on where it was.
func TestLargeAsideIsCountedInGoes(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.putAside()
		f.large("ttlproxy_2_p1")
		m := f.at(utc("05-12 13:00:01"))
		m.asides.did = time.Now() // only what follows is done
		m.pass()
		over, err := m.store.Over(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		// A connection that was lost may have been lost with what its server remembered.
		for len(m.counted) == 0 {
			m.seeTo(t.Context(), over, time.Now().Add(time.Millisecond))
		}
		begun, rows := maps.Clone(m.counted), map[uint64]int64{}
		for side, count := range begun {
			rows[side] = count.Rows()
		}
		m.session.Close()
		f.Wait("each count to go on or begin anew", func() bool { // and not only the moment to be over
			m.seeTo(t.Context(), over, time.Now().Add(time.Millisecond))
			for side, count := range begun {
				if m.counted[side] == count && count.Rows() == rows[side] {
					return false
				}
			}
			return true
		})
		for side, now := range m.counted {
			if begun[side] == now {
				t.Error("on another connection the count goes on")
			}
		}

		goes := 0
		for late := time.Now().Add(mysqltest.Patience); f.sides() != "" && time.Now().Before(late); goes++ {
			for range over {
				m.seeTo(t.Context(), over, time.Now().Add(time.Millisecond))
			}
		}
		f.wantSides("")
		if goes < 3 || len(m.counted) > 0 {
			t.Errorf("it took %d goes, and %d tables are left over", goes, len(m.counted))
		}
	})
}

// TestOthersAsidesAreDropped: what has to stay although its grace is over, however much that is, keeps nothing of
// other tables: not what belongs to a policy that is paused, nor to one that was removed, nor what somebody reads.
func TestOthersAsidesAreDropped(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.days()
		f.Fill("u", 2)
		paused := f.Declare("u")
		if err := f.Store.Pause(t.Context(), "test", paused.ID, "", time.Time{}); err != nil {
			t.Fatal(err)
		}
		m := f.at(utc("05-12 12:00:00"))
		m.exchanges("24h")
		m.pass()
		f.wantSides("ttlproxy_2_p1,ttlproxy_3_p2")

		for _, policy := range []uint64{paused.ID, 999} {
			f.Exec(fmt.Sprintf(f.In("INSERT INTO {t}_c.departure (policy_id, partition_name, how, job_id, task_id, fence, "+
				"server, due, state, state_at, reason, side_schema, side_name, side_id, grace, keep_until, bound) SELECT %d, "+
				"CONCAT('p', n), 'EXCHANGE', 9, n, 1, (SELECT MAX(server) FROM {t}_c.policy_identity), 1, 'kept', '2027-05-01', "+
				"'', '{t}', CONCAT('ttlproxy_9_p', n), 7, 60, '2027-05-01', '' FROM (WITH RECURSIVE d AS (SELECT 1 AS n UNION "+
				"ALL SELECT n + 1 FROM d WHERE n < 12) SELECT n FROM d) x"), policy))
		}
		m = f.at(utc("05-12 13:00:01"))
		for range 3 {
			m.dropAsides(t.Context())
		}
		f.wantSides("")
		if got := f.Text(f.In("SELECT COUNT(*) FROM {t}_c.departure WHERE state = 'kept'")); got != "24" {
			t.Errorf("%s of the others are kept, want all 24", got)
		}
	})
}

// TestAsideThatSomebodyReads: what a partition has become is not waited for while somebody reads it for longer, and
// dropped when nobody does.
func TestAsideThatSomebodyReads(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.putAside()
		f.wantSides("ttlproxy_2_p1,ttlproxy_3_p2")

		letGo := f.Hold(f.In("SELECT COUNT(*) FROM {t}.ttlproxy_2_p1"), f.In("SELECT COUNT(*) FROM {t}.ttlproxy_3_p2"))
		f.Wait("the transaction to be open for a second", f.NextSecond())
		f.Wait("the transaction to be open for another", f.NextSecond())
		m := f.at(utc("05-12 13:00:01"))
		m.pass()
		f.wantSides("ttlproxy_2_p1,ttlproxy_3_p2")
		if got := m.blocked(); got > 0 {
			t.Errorf("others may have waited for %v", got)
		}
		// MariaDB does not show who it is: there it is seen only by tries that wait for nobody.
		if got := f.Text(f.In("SELECT GROUP_CONCAT(DISTINCT state) FROM {t}_c.departure")); got != "kept" &&
			!f.Store.Server().MariaDB {
			t.Errorf("the departures are %s, want them not even tried", got)
		}

		letGo()
		f.at(utc("05-12 13:02:02")).pass()
		f.wantSides("")
	})
}
