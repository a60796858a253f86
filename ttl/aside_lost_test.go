package ttl

import (
	"context"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// leaveUnnoted lets p1 become a table in the very moment in which everything dies that could note it.
func (f *fixture) leaveUnnoted(m *moment) {
	f.T.Helper()
	ctx, die := context.WithCancel(f.T.Context())
	defer die()
	m.engine.crew.BeforePacket = func() {
		side := f.Text(f.In("SELECT COALESCE(MAX(side_name), '') FROM {t}_c.departure WHERE state = 'ready'"))
		if side == "" || ctx.Err() != nil {
			return
		}
		leave := "ALTER TABLE {t}.t EXCHANGE PARTITION p1 WITH TABLE {t}."
		if f.Store.Server().MariaDB {
			leave = "ALTER TABLE {t}.t CONVERT PARTITION p1 TO TABLE {t}."
		}
		f.Exec(f.In(leave + side))
		_ = m.db.Close()
		die()
	}

	if err := m.tick(ctx); err != nil {
		f.T.Fatal(err)
	}
	m.engine.crew.Work(ctx)
	if ctx.Err() == nil {
		f.T.Fatal("no partition was ready to go")
	}
}

// TestAsideThatNobodyNoted: server or proxy dies when a partition has become a table, and before that is noted.
// Whoever comes next finds that table: it is kept for its grace, and then dropped; and its rows are counted.
func TestAsideThatNobodyNoted(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, removed := range []bool{false, true} {
			name := map[bool]string{false: "found", true: "removed"}[removed]
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, cfg, 0)
				f.days()
				m := f.at(utc("05-12 12:00:00"))
				p := m.exchanges("24h")
				f.leaveUnnoted(m)
				onMySQL := !f.Store.Server().MariaDB // where the partition is still there, but empty
				if onMySQL {
					f.Exec(f.In("INSERT INTO {t}.t SELECT 50, made FROM {t}.ttlproxy_2_p1 WHERE id = 3"))
				}
				if removed {
					if err := f.Store.Remove(t.Context(), catalog.Client{Account: "test"}, p.Table); err != nil {
						t.Fatal(err)
					}
				}

				f.at(utc("05-12 12:02:00")).pass()
				if got := f.Text(f.In("SELECT COALESCE(MAX(CONCAT_WS(' ', state, side_name, side_id > 0)), '') " +
					"FROM {t}_c.departure WHERE partition_name = 'p1'")); got != "kept ttlproxy_2_p1 1" {
					t.Errorf("the departure of p1 is %q", got)
				}
				if got := f.Text(f.In("SELECT GROUP_CONCAT(id ORDER BY id) FROM {t}.ttlproxy_2_p1")); got != "3,4" {
					t.Errorf("rows %s are kept, want 3 and 4", got)
				}
				if got := f.Text(f.In("SELECT (SELECT COALESCE(SUM(deleted), 0) FROM {t}_c.job_history WHERE " +
					"partition_name = 'p1') + (SELECT COALESCE(SUM(deleted), 0) FROM {t}_c.task WHERE job_id = 2)",
				)); got != "2" && !removed {
					t.Errorf("%s rows of p1 are counted, want 2", got)
				}

				f.at(utc("05-12 12:59:00")).pass()
				if got := f.Text(f.In("SELECT COUNT(*) FROM {t}.ttlproxy_2_p1")); got != "2" {
					t.Errorf("within the grace %s rows are kept, want 2", got)
				}
				f.at(utc("05-12 13:02:01")).pass()
				if gone := f.sides() == ""; gone == removed {
					t.Errorf("after the grace there is %q", f.sides())
				}

				f.at(utc("05-13 12:02:02")).pass()
				if got := f.Text(f.In("SELECT COUNT(*) FROM {t}.t WHERE id = 50")); onMySQL && (got == "0") == removed {
					t.Errorf("%s rows are left of one that came late into the empty partition", got)
				}
			})
		}
	})
}

// TestSideThatNobodyNoted: on MySQL an empty table is made first. If its maker dies, it is dropped; unless
// somebody has put something into it, or it is another one.
func TestSideThatNobodyNoted(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		if f.Store.Server().MariaDB {
			t.Skip("MariaDB makes no table before")
		}
		f.days()
		p := f.at(utc("05-12 12:00:00")).whole(ddl.PartitionExchange)
		for i, side := range []string{"ttlproxy_7_p1", "ttlproxy_8_p2"} {
			f.Exec(f.In("CREATE TABLE {t}." + side + " (id INT)"))
			if err := f.Store.AnnounceSide(t.Context(), catalog.Departure{
				Policy: p.ID, Partition: side[len(side)-2:], How: ddl.PartitionExchange, Job: 7, Task: uint64(7 + i),
				Server: f.Text(f.In("SELECT MAX(server) FROM {t}_c.policy_identity")),
				Side:   catalog.Table{Schema: f.Schema, Name: side},
			}, 1); err != nil {
				t.Fatal(err)
			}
		}
		f.Exec(f.In("INSERT INTO {t}.ttlproxy_8_p2 VALUES (1)"),
			f.In("UPDATE {t}_c.departure SET state_at = '2027-05-12 11:58:00'"))
		m := f.at(utc("05-12 12:00:00"))
		m.dropAsides(t.Context())
		f.wantSides("ttlproxy_8_p2")
		if got := f.Text(f.In("SELECT COUNT(*) FROM {t}_c.departure WHERE side_name <> ''")); got != "0" {
			t.Errorf("%s are still looked for", got)
		}
	})
}
