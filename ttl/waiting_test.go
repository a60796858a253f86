package ttl

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestNothingIsHeldWhileWaiting: workers that signals let do nothing, in the middle of what they do, have no transaction
// open, and lock neither rows nor the table.
func TestNothingIsHeldWhileWaiting(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		for name, c := range map[string]struct {
			after   int64 // packets until all have to wait
			prepare func(f *fixture, m *moment)
		}{
			"rows": {2, func(f *fixture, m *moment) {
				f.Fill("t", 20_000)
				m.declare("UTC", "24h", nil)
			}},
			"rows by an index": {2, func(f *fixture, m *moment) {
				f.Fill("t", 20_000)
				f.Exec(f.In("ALTER TABLE {t}.t ADD KEY (made)"))
				m.declare("UTC", "24h", nil)
			}},
			"families": {2, func(f *fixture, _ *moment) { f.parents(5000, 2) }},
			"partitions": {0, func(f *fixture, m *moment) {
				f.days()
				m.whole(ddl.PartitionDrop)
			}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, s.Config(""), 0)
				f.Config = s.Account(t, "waits", "ALL ON *.*") // as which nobody else is at work
				m := f.at(utc("05-12 12:00:00"))
				c.prepare(f, m)
				m.mustTick()

				var sent atomic.Int64
				m.engine.crew.BeforePacket = func() {
					if sent.Add(1) == c.after {
						m.engine.duty.Set(0, "nobody knows")
					}
				}
				if c.after == 0 {
					m.engine.duty.Set(0, "nobody knows")
				}
				for range 4 {
					defer m.works()()
				}
				f.Wait("workers to begin", func() bool {
					return sent.Load() >= c.after && f.Text(f.In("SELECT COUNT(*) FROM {t}_c.task WHERE state = 'running'")) != "0"
				})
				f.Wait("all of them to wait", f.still())

				// What is there twice has been there all the while.
				first := f.transactions()
				f.Wait("a while", elapsed(1200*time.Millisecond))
				if now := f.transactions(); now != "" && now == first {
					t.Errorf("transactions are open: %s", now)
				}
				if f.Text(f.In("SELECT COUNT(*) FROM {t}_c.task WHERE state = 'running'")) == "0" {
					t.Error("nobody waits")
				}
				f.isFree()
			})
		}
	})
}

// transactions are those that the engine's account has open.
func (f *fixture) transactions() string {
	f.T.Helper()
	return f.Text("SELECT COALESCE(GROUP_CONCAT(t.trx_mysql_thread_id, ' since ', t.trx_started), '') FROM " +
		"information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id " +
		"WHERE p.user = '" + f.Config.User + "'")
}

// isFree locks t and all its rows, without waiting for the engine. Others that read about tables may be in the way of
// an ALTER for a moment, which is longer on a busy machine.
func (f *fixture) isFree() {
	f.T.Helper()
	conn, err := f.Admin.Conn(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	defer conn.Close()
	for _, statement := range []string{
		"SET SESSION lock_wait_timeout = 1", "SELECT * FROM {t}.t FOR UPDATE NOWAIT",
		"ALTER TABLE {t}.t COMMENT = 'nobody uses it'",
	} {
		f.Wait(statement, func() bool {
			_, err := conn.ExecContext(f.T.Context(), f.In(statement))
			open := f.transactions()
			if my, refused := errors.AsType[*mysql.MySQLError](err); refused && my.Number == ddl.CodeLockWait && open == "" {
				return false
			}
			if err != nil {
				f.T.Errorf("%s: %v; transactions: %s", statement, err, open)
			}
			return true
		})
	}
}

// still reports that no row of t has gone for a second.
func (f *fixture) still() func() bool {
	rows, since := f.Rows("t"), time.Now()
	return func() bool {
		if now := f.Rows("t"); now != rows {
			rows, since = now, time.Now()
		}
		return time.Since(since) > time.Second
	}
}
