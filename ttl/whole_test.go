package ttl

import (
	"context"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	dto "github.com/prometheus/client_model/go"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// days makes t with a partition for each day before the tenth of May and after it; at noon of the
// twelfth, with a TTL of a day, p1 and p2 have expired, the lowest and p3 in part.
func (f *fixture) days() {
	f.T.Helper()
	f.divide(utc("05-10 12:00:00"), 5)
	f.Exec("INSERT INTO " + f.Schema + ".t VALUES (6, '2027-05-10 10:00:00'), (7, '2027-05-11 06:00:00'), " +
		"(8, '2027-05-11 18:00:00')")
}

// whole declares that partitions of t go whole.
func (m *moment) whole(how string) catalog.Policy {
	m.f.T.Helper()
	return m.declare("UTC", "1h", map[string]string{ddl.OptionPartition: how})
}

// exchanges declares that partitions of t are kept as tables for an hour.
func (m *moment) exchanges(interval string) catalog.Policy {
	m.f.T.Helper()
	return m.declare("UTC", interval, map[string]string{
		ddl.OptionPartition: ddl.PartitionExchange, ddl.OptionGrace: "1h",
	})
}

// rows are the ids of all rows, and the partitions.
func (f *fixture) divided() string {
	f.T.Helper()
	return f.Text(f.In("SELECT CONCAT((SELECT GROUP_CONCAT(id ORDER BY id) FROM {t}.t), ' in ', " +
		"GROUP_CONCAT(partition_name ORDER BY partition_ordinal_position)) FROM information_schema.partitions " +
		"WHERE table_schema = '{t}' AND table_name = 't'"))
}

// ended lists the jobs of partitions that have ended.
func (f *fixture) endedJobs() string {
	f.T.Helper()
	return f.Text("SELECT COALESCE(GROUP_CONCAT(CONCAT_WS(' ', partition_name, plan, state, deleted) ORDER BY job_id " +
		"SEPARATOR ', '), '') FROM " + f.Schema + "_c.job_history")
}

// TestPartitionsGoWhole: partitions in which everything has expired leave their table by one statement,
// are counted like rows that were deleted, and what we did is not taken for somebody else's doing:
// the next day needs nobody's approval.
func TestPartitionsGoWhole(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, c := range []struct{ how, first, second, jobs string }{
			{
				ddl.PartitionDrop, "5,8 in p0,p3,p4", "5 in p0,p4",
				"p0 range finished 2, p1 whole finished 2, p2 whole finished 1, p3 range finished 1, " +
					"p0 range finished 0, p3 whole finished 1, p4 range finished 0",
			},
			{
				ddl.PartitionExchange, "5,8 in p0,p3,p4", "5 in p0,p4",
				"p0 range finished 2, p1 whole finished 2, p2 whole finished 1, p3 range finished 1, " +
					"p0 range finished 0, p3 whole finished 1, p4 range finished 0",
			},
			{
				ddl.PartitionTruncate, "5,8 in p0,p1,p2,p3,p4", "5 in p0,p1,p2,p3,p4",
				"p0 range finished 2, p1 whole finished 2, p2 whole finished 1, p3 range finished 1, " +
					"p0 range finished 0, p1 whole finished 0, p2 whole finished 0, p3 whole finished 1, " +
					"p4 range finished 0",
			},
		} {
			t.Run(c.how, func(t *testing.T) {
				f := newFixture(t, cfg, 0)
				f.days()
				m := f.at(utc("05-12 12:00:00"))
				p := m.whole(c.how)
				f.consent(p, catalog.Consent{})
				m.pass()
				if got := f.divided(); got != c.first {
					t.Errorf("the first day leaves %s, want %s", got, c.first)
				}

				f.at(utc("05-13 12:00:01")).pass()
				if got := f.divided(); got != c.second {
					t.Errorf("the second day leaves %s, want %s", got, c.second)
				}
				if got := f.endedJobs(); got != c.jobs {
					t.Errorf("got jobs %s, want %s", got, c.jobs)
				}

				now, err := f.Store.PolicyByID(t.Context(), p.ID)
				if err != nil || now.Version != p.Version || !now.Approved() {
					t.Errorf("the policy is not what it was: version %d, %v", now.Version, err)
				}
				if got := f.Text(f.In("SELECT GROUP_CONCAT(DISTINCT kind ORDER BY kind) FROM {t}_c.event " +
					"WHERE kind IN ('partition', 'held', 'followed', 'needs approval', 'disarmed')")); got != "partition" {
					t.Errorf("there were events %s, want only those of partitions", got)
				}
			})
		}
	})
}

// TestWholeHoldsAtOnce turns every switch there is when a partition is ready to go, and the statement
// about to be sent: once the switch has answered, nothing goes.
func TestWholeHoldsAtOnce(t *testing.T) {
	t.Parallel()
	sql := func(statements ...string) func(context.Context, *fixture, catalog.Policy, string) error {
		return func(_ context.Context, f *fixture, _ catalog.Policy, _ string) error {
			for _, s := range statements {
				f.Exec(f.In(s))
			}
			return nil
		}
	}
	type trial struct {
		turn func(context.Context, *fixture, catalog.Policy, string) error
		once bool // the policy goes on: only what was ready must not go
	}
	all := map[string]trial{
		"frozen for ten seconds": {sql("UPDATE {t}_c.departure SET state_at = state_at - INTERVAL 10 SECOND"), true},
		"another node":           {sql("UPDATE {t}_c.departure SET fence = fence + 1"), true},
		"another table": {sql("CREATE TABLE {t}.u LIKE {t}.t", "INSERT INTO {t}.u SELECT * FROM {t}.t",
			"RENAME TABLE {t}.t TO {t}.x, {t}.u TO {t}.t"), false},
		"another partition": {sql("CREATE TABLE {t}.u LIKE {t}.t", "ALTER TABLE {t}.u REMOVE PARTITIONING",
			"INSERT INTO {t}.u SELECT * FROM {t}.t PARTITION (p1)",
			"ALTER TABLE {t}.t EXCHANGE PARTITION p1 WITH TABLE {t}.u"), true},
		"reorganized": {sql("ALTER TABLE {t}.t REORGANIZE PARTITION p1, p2 INTO (PARTITION p1 VALUES LESS THAN " +
			"(TO_DAYS('2027-05-10')), PARTITION p2 VALUES LESS THAN (TO_DAYS('2027-05-11')))"), true},
	}
	for name, turn := range switches() {
		all[name] = trial{turn, false}
	}

	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, c := range all {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.days()
				m := f.at(utc("05-12 12:00:00"))
				m.engine.cfg.StopFile = filepath.Join(t.TempDir(), "stop")
				p := m.whole(ddl.PartitionExchange)

				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				turned, rows := false, ""
				m.engine.crew.BeforePacket = func() {
					if turned || f.Text(f.In("SELECT COUNT(*) FROM {t}_c.departure WHERE state = 'ready'")) == "0" {
						return
					}
					turned = true
					if err := c.turn(t.Context(), f, p, m.engine.cfg.StopFile); err != nil {
						t.Error(err)
					}
					if rows = f.Rows("t"); c.once {
						leave()
					}
				}

				if err := m.tick(ctx); err != nil {
					t.Fatal(err)
				}
				m.engine.crew.Work(ctx)
				if !turned {
					t.Fatal("no partition was ready to go")
				}
				if now := f.Rows("t"); now != rows {
					t.Errorf("%s rows when the switch had answered, %s later", rows, now)
				}
				f.wantSides("")
			})
		}
	})
}

// TestWholeBesideALoad: signals slow partitions that go whole, and the counting of their rows, down like rows: down to
// what is left for the table.
func TestWholeBesideALoad(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, c := range map[string]struct {
			options map[string]string
			goes    bool
		}{
			"as any other":    {nil, false},
			"with a floor":    {map[string]string{ddl.OptionFloor: "50"}, true},
			"late and urgent": {map[string]string{ddl.OptionPriority: "FRESH", ddl.OptionMaxLag: "1h"}, true},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.days()
				m := f.at(utc("05-12 12:00:00"))
				options := map[string]string{ddl.OptionPartition: ddl.PartitionDrop}
				maps.Copy(options, c.options)
				m.declare("UTC", "1h", options)
				m.mustTick()
				m.mustTick() // the first one that sees the job
				m.engine.duty.Set(0.01, "load")
				m.engine.duty.Took(time.Hour)

				ctx, stop := context.WithTimeout(t.Context(), mysqltest.Patience)
				if !c.goes {
					ctx, stop = context.WithTimeout(t.Context(), aWhile)
				}
				defer stop()
				m.engine.crew.Work(ctx)
				if got := f.divided(); (got == "5,8 in p0,p3,p4") != c.goes || !c.goes && !strings.Contains(got, "p1,p2") {
					t.Errorf("%s is left", got)
				}
			})
		}
	})
}

// TestTriggerAtTheLastMoment: a trigger that is created when a partition is ready to go keeps it from going whole, and
// fires for its rows.
func TestTriggerAtTheLastMoment(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.days()
		m := f.at(utc("05-12 12:00:00"))
		m.whole(ddl.PartitionDrop)
		created := false
		m.engine.crew.BeforePacket = func() {
			if !created && f.Text(f.In("SELECT COUNT(*) FROM {t}_c.departure WHERE state = 'ready'")) == "1" {
				created = true
				f.Exec(f.In("CREATE TABLE {t}.log (id INT)"), f.In("CREATE TRIGGER {t}.gone BEFORE DELETE ON {t}.t "+
					"FOR EACH ROW INSERT INTO {t}.log VALUES (OLD.id)"))
			}
		}
		m.pass()
		f.at(utc("05-12 13:00:01")).pass()
		if got := f.divided(); got != "5,8 in p0,p1,p2,p3,p4" {
			t.Errorf("%s is left", got)
		}
		logged := f.Text(f.In("SELECT COALESCE(GROUP_CONCAT(id ORDER BY id), '') FROM {t}.log"))
		if !strings.HasSuffix(logged, "3,4,6,7") {
			t.Errorf("the trigger has fired for %q", logged)
		}
	})
}

// TestWholeBehindAReader: with a transaction open on the table, nobody waits for longer than
// ttl_partition_lock_wait behind a partition that wants to go, which tries again after a minute.
func TestWholeBehindAReader(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.days()
		f.Exec(f.In("CREATE TABLE {t}.twin LIKE {t}.t"), f.In("INSERT INTO {t}.twin SELECT * FROM {t}.t"))
		limits := f.overhear(regexp.MustCompile(`lock_wait_timeout = (\d+), wait_timeout = 1;\nLOCK TABLES`))
		m := f.at(utc("05-12 12:00:00"))
		m.whole(ddl.PartitionDrop)

		reader, err := f.Admin.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = reader.Rollback() }()
		var rows int
		if err := reader.QueryRowContext(t.Context(), f.In("SELECT COUNT(*) FROM {t}.t")).Scan(&rows); err != nil {
			t.Fatal(err)
		}

		ctx, stop := context.WithCancel(t.Context())
		longest := func(query string) <-chan time.Duration {
			longest := make(chan time.Duration, 1)
			go func() {
				var most time.Duration
				for ctx.Err() == nil {
					began := time.Now()
					_ = f.Text(query)
					most = max(most, time.Since(began))
				}
				longest <- most
			}()
			return longest
		}
		behind, beside := longest(f.In("SELECT COUNT(*) FROM {t}.t")), longest(f.In("SELECT COUNT(*) FROM {t}.twin"))

		m.pass()
		stop()
		all := limits()
		if slices.ContainsFunc(all, func(seconds string) bool { return seconds != "0" && seconds != "1" }) {
			t.Errorf("the table was waited for for %v seconds, want one at most", all)
		}
		// A busy machine adds to what is counted, and to what anybody asks, to the one more than to the other.
		if most, others := <-behind, <-beside; most > m.blocked()+2*others+time.Second {
			t.Errorf("another reader waited %v, of which %v are counted; who reads a table like it waited %v",
				most, m.blocked(), others)
		}
		waits := f.In("SELECT GROUP_CONCAT(CONCAT_WS(' ', partition_name, state) ORDER BY partition_name) " +
			"FROM {t}_c.departure")
		if got := f.Text(waits); got != "p1 waits" {
			t.Errorf("got %s, want one try", got)
		}
		why := f.Text(f.In("SELECT MAX(reason) FROM {t}_c.job WHERE state = 'paused'"))
		// On a busy machine the transaction may be too old by then to be waited for.
		if !strings.Contains(why, "after a minute") || len(all) == 0 && !strings.Contains(why, "connection ") {
			t.Errorf("the reason is %q, of %d tries", why, len(all))
		}

		if err := reader.Rollback(); err != nil {
			t.Fatal(err)
		}
		f.at(utc("05-12 12:00:59")).pass()
		if got := f.Text(waits); got != "p1 waits" {
			t.Errorf("got %s within a minute, want no other try", got)
		}
		f.at(utc("05-12 12:01:01")).pass()
		if got := f.divided(); got != "5,8 in p0,p3,p4" {
			t.Errorf("after a minute %s is left", got)
		}
	})
}

// overhear notes what a pattern finds in all that is sent by engines which are made from now on.
func (f *fixture) overhear(pattern *regexp.Regexp) (found func() []string) {
	var mu sync.Mutex
	var all []string
	f.Config = f.Config.Clone()
	f.Config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return overheard{c, func(sent []byte) {
			mu.Lock()
			defer mu.Unlock()
			for _, match := range pattern.FindAllSubmatch(sent, -1) {
				all = append(all, string(match[1]))
			}
		}}, err
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// overheard is a connection of which somebody hears what is sent.
type overheard struct {
	net.Conn
	hear func(sent []byte)
}

func (o overheard) Write(b []byte) (int, error) {
	o.hear(b)
	return o.Conn.Write(b)
}

// TestWholeBehindALongReader: while a transaction is open on the table for longer than a partition would wait
// for it, no statement is sent that others would have to wait behind, and the job says whom it waits for.
func TestWholeBehindALongReader(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.days()
		m := f.at(utc("05-12 12:00:00"))
		m.whole(ddl.PartitionExchange)
		letGo := f.Hold("SELECT COUNT(*) FROM {t}")
		f.Wait("the transaction to be open for a second", f.NextSecond())
		f.Wait("the transaction to be open for another", f.NextSecond())

		blocked := func(m *moment) float64 {
			var now dto.Metric
			if err := m.engine.crew.Metrics.Blocked.Write(&now); err != nil {
				t.Fatal(err)
			}
			return now.GetCounter().GetValue()
		}
		for minute := range 3 {
			m := f.at(utc(fmt.Sprintf("05-12 12:%02d:01", minute*2)))
			m.pass()
			if got := blocked(m); got != 0 {
				t.Errorf("others may have waited for %.3f s", got)
			}
			why := f.Text(f.In("SELECT COALESCE(MAX(reason), '') FROM {t}_c.job WHERE state = 'paused'"))
			if !strings.Contains(why, "connection ") || !strings.Contains(why, "after a minute") {
				t.Errorf("the reason is %q", why)
			}
		}
		f.wantSides("")

		letGo()
		m = f.at(utc("05-12 12:10:00"))
		m.pass()
		if got := f.divided(); got != "5,8 in p0,p3,p4" {
			t.Errorf("after that %s is left", got)
		}
		if blocked(m) == 0 {
			t.Error("no time is counted in which the table was locked")
		}
	})
}

// TestWholeAgainstTheBounds: what was put into a partition without a look, and has not expired, stays:
// the partition then goes by rows. MariaDB knows no WITHOUT VALIDATION in the version that is tested.
func TestWholeAgainstTheBounds(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mysqltest.Shared(t, sandbox.MySQL).Config(""), 0)
	f.days()
	f.Exec(f.In("CREATE TABLE {t}.u LIKE {t}.t"), f.In("ALTER TABLE {t}.u REMOVE PARTITIONING"),
		f.In("INSERT INTO {t}.u VALUES (9, '2030-01-01'), (10, '2027-05-09')"),
		f.In("ALTER TABLE {t}.t EXCHANGE PARTITION p1 WITH TABLE {t}.u WITHOUT VALIDATION"))
	m := f.at(utc("05-12 12:00:00"))
	m.declare("UTC", "30m", map[string]string{ddl.OptionPartition: ddl.PartitionDrop})
	m.pass()
	f.at(utc("05-12 12:30:01")).pass()
	if got, want := f.divided(), "5,8,9 in p0,p1,p3,p4"; got != want {
		t.Errorf("%s is left, want %s", got, want)
	}
	why := f.Text(f.In("SELECT reason FROM {t}_c.departure WHERE partition_name = 'p1'"))
	if !strings.Contains(why, "never do: 1") {
		t.Errorf("the reason is %q", why)
	}
}

// TestWholeBesideALongStatement: MySQL's list of InnoDB's tables waits for whoever changes any of them, and gives up
// after a second. That is no reason for a partition to go by rows.
func TestWholeBesideALongStatement(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.days()
		m := f.at(utc("05-12 12:00:00"))
		m.whole(ddl.PartitionDrop)
		m.mustTick()
		m.mustTick()

		ended := make(chan error, 1)
		go func() {
			_, err := f.Admin.ExecContext(t.Context(), f.In("CREATE TABLE {t}.other AS SELECT SLEEP(5) AS slept"))
			ended <- err
		}()
		f.Wait("the statement to run", func() bool {
			return f.Text(f.In("SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep' "+
				"AND info LIKE 'CREATE TABLE {t}.other%'")) == "1"
		})
		m.pass()
		if got := f.Text(f.In("SELECT COUNT(*) FROM {t}_c.departure WHERE state = 'refused'")); got != "0" {
			t.Errorf("%s partitions go by rows: %s", got, f.Text(f.In("SELECT MAX(reason) FROM {t}_c.departure")))
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		f.at(utc("05-12 12:01:01")).pass()
		if got := f.divided(); got != "5,8 in p0,p3,p4" {
			t.Errorf("%s is left", got)
		}
	})
}

// TestWholeWithinTheBound: a partition with more rows than the run may delete waits for a person, and
// goes when one has approved it.
func TestWholeWithinTheBound(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.days()
		m := f.at(utc("05-12 12:00:00"))
		p := m.declare("UTC", "1h", map[string]string{ddl.OptionPartition: ddl.PartitionDrop, ddl.OptionMaxRows: "4"})
		m.pass()
		if got := f.Rows("t"); got != "8" {
			t.Errorf("%s rows are left before the approval, want all 8", got)
		}

		approve := func(m *moment, c catalog.Consent) {
			if _, err := m.engine.store.Consent(t.Context(), "test", p.ID, p.Version, c); err != nil {
				t.Fatal(err)
			}
			m.pass()
		}
		three := uint64(3)
		approve(f.at(utc("05-12 12:00:01")), catalog.Consent{UpTo: &three})
		if gone := 8 - f.Number("SELECT COUNT(*) FROM "+f.Schema+".t"); gone == 0 || gone > 3 {
			t.Errorf("%d rows are gone, want some, and no more than the 3 that were approved", gone)
		}

		approve(f.at(utc("05-12 12:00:02")), catalog.Consent{})
		if got := f.divided(); got != "5,8 in p0,p3,p4" {
			t.Errorf("the second approval leaves %s", got)
		}
	})
}

// TestWholePartitionsShareTheBound: of two partitions that each fit into what a run may delete, but not both, one goes,
// even if the other one asks for room while the first is on its way out.
func TestWholePartitionsShareTheBound(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.days()
		for _, day := range []string{"09", "10"} {
			f.Exec(f.In("INSERT INTO {t}.t WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 60) " +
				"SELECT 1" + day + "00 + i, '2027-05-" + day + " 13:00:00' FROM n"))
		}
		m := f.at(utc("05-12 12:00:00"))
		p := m.declare("UTC", "1h", map[string]string{ddl.OptionPartition: ddl.PartitionDrop, ddl.OptionMaxRows: "4"})
		m.pass()
		m = f.at(utc("05-12 12:00:01"))
		if _, err := m.engine.store.Consent(t.Context(), "test", p.ID, p.Version,
			catalog.Consent{UpTo: new(uint64(100))}); err != nil {
			t.Fatal(err)
		}
		before := f.Number(f.In("SELECT COUNT(*) FROM {t}.t"))

		asked := false
		m.engine.crew.BeforePacket = func() {
			if asked || f.Text(f.In("SELECT COUNT(*) FROM {t}_c.departure WHERE state = 'ready'")) == "0" {
				return
			}
			asked = true
			f.askForRoom(61, "p2")
		}
		m.pass()
		if gone := before - f.Number(f.In("SELECT COUNT(*) FROM {t}.t")); !asked || gone < 60 || gone > 100 {
			t.Errorf("%d rows are gone, of 100 (asked: %t)", gone, asked)
		}
		if got := f.Text(f.In("SELECT GROUP_CONCAT(state) FROM {t}_c.job")); got != "needs approval" {
			t.Errorf("the job of the other partition is %q", got)
		}
	})
}

// askForRoom asks for the task of a partition, as its worker would.
func (f *fixture) askForRoom(rows uint64, partition string) {
	f.T.Helper()
	jobs, err := f.Store.Jobs(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	for _, job := range jobs {
		if job.Partition != partition {
			continue
		}
		tasks, err := f.Store.TasksOf(f.T.Context(), job.ID)
		if err != nil {
			f.T.Fatal(err)
		}
		for _, task := range tasks {
			if _, err := f.Store.Allow(f.T.Context(), task, rows); err != nil {
				f.T.Error(err)
			}
		}
	}
}

// TestWholeAsksAgain: a partition whose room others have taken, between the answer that it may go and its turn to do
// so, asks again, and a person only what the run's account says: what fits goes.
func TestWholeAsksAgain(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, c := range []struct {
			name       string
			first      int    // rows of p1 beside two others, of which 100 may go
			asks       string // for more than there is, while another one waits for its turn
			left, jobs string
		}{
			{"all of them fit", 30, "p2", "5,8 in p0,p3,p4", ""},
			{"beside one that does not", 300, "p1", "in p0,p1,p3,p4", "p1 needs approval"},
		} {
			t.Run(c.name, func(t *testing.T) {
				f := newFixture(t, cfg, 0)
				f.days()
				f.Exec(f.In("INSERT INTO {t}.t WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE " +
					"i < " + strconv.Itoa(c.first) + ") SELECT 1000 + i, '2027-05-09 13:00:00' FROM n"))
				m := f.at(utc("05-12 12:00:00"))
				p := m.declare("UTC", "1h", map[string]string{ddl.OptionPartition: ddl.PartitionDrop, ddl.OptionMaxRows: "4"})
				m.pass()
				m = f.at(utc("05-12 12:00:01"))
				if _, err := m.engine.store.Consent(t.Context(), "test", p.ID, p.Version,
					catalog.Consent{UpTo: new(uint64(100))}); err != nil {
					t.Fatal(err)
				}

				asked := f.whileItWaitsForItsTurn(func() { f.askForRoom(1000, c.asks) })
				m.pass()
				if n := asked(); n != 1 {
					t.Errorf("somebody else asked %d times while a partition waited, want once", n)
				}
				if got := f.divided(); !strings.HasSuffix(got, c.left) {
					t.Errorf("%s is left, want %s", got, c.left)
				}
				if got := f.Text(f.In("SELECT COALESCE(GROUP_CONCAT(CONCAT_WS(' ', partition_name, state)), '') " +
					"FROM {t}_c.job")); got != c.jobs {
					t.Errorf("the jobs that are left are %q, want %q", got, c.jobs)
				}
			})
		}
	})
}

// whileItWaitsForItsTurn has the first worker that is about to lock a table wait until something was done.
func (f *fixture) whileItWaitsForItsTurn(do func()) (done func() int) {
	f.T.Helper()
	turn, err := f.Admin.Conn(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	if _, err := turn.ExecContext(f.T.Context(), "SELECT GET_LOCK(?, 0)", f.Store.Turn()); err != nil {
		f.T.Fatal(err)
	}

	times := make(chan int, 1)
	go func() {
		defer turn.Close()
		n := 0
		for late := time.Now().Add(time.Minute); f.T.Context().Err() == nil && n == 0 && time.Now().Before(late); {
			time.Sleep(20 * time.Millisecond)
			var waiting int
			if err := f.Admin.QueryRowContext(f.T.Context(), "SELECT COUNT(*) FROM information_schema.processlist "+
				"WHERE info LIKE CONCAT('SELECT GET_LOCK(%', ?, '%')", f.Store.Turn()).Scan(&waiting); err != nil {
				break
			}
			if waiting > 0 {
				do()
				n++
			}
		}
		if _, err := turn.ExecContext(f.T.Context(), "SELECT RELEASE_LOCK(?)", f.Store.Turn()); err != nil {
			f.T.Error(err)
		}
		times <- n
	}()
	return func() int { return <-times }
}

// TestApprovalBarsWhatIsReady: a partition that is about to go when a person allows a run less than that has to ask
// anew.
func TestApprovalBarsWhatIsReady(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.days()
		m := f.at(utc("05-12 12:00:00"))
		p := m.whole(ddl.PartitionDrop)
		ready := false
		m.engine.crew.BeforePacket = func() {
			if ready || f.Text(f.In("SELECT COUNT(*) FROM {t}_c.departure WHERE state = 'ready' AND "+
				"partition_name = 'p1'")) == "0" {
				return
			}
			ready = true
			f.Exec(f.In("UPDATE {t}_c.job SET state = 'needs approval', reason = 'x' WHERE partition_name = 'p2'"))
			f.consent(p, catalog.Consent{UpTo: new(uint64(1))})
		}
		m.pass()
		if got := f.Number(f.In("SELECT COUNT(*) FROM {t}.t PARTITION (p1)")); !ready || got != 2 {
			t.Errorf("%d rows of p1 are left, want both (ready: %t)", got, ready)
		}
	})
}

// TestWholeIsCountedOnce: the node dies when the partition has gone and nobody has noted it. Whoever
// comes next counts it, be it another node or a person who cancels the job.
func TestWholeIsCountedOnce(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, next := range map[string]func(*fixture, catalog.Policy){
			"another node": func(f *fixture, _ catalog.Policy) { f.at(utc("05-12 12:01:00")).pass() },
			"cancelled": func(f *fixture, p catalog.Policy) {
				if _, err := f.Store.Cancel(f.T.Context(), "test", p.ID); err != nil {
					f.T.Error(err)
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, cfg, 0)
				f.days()
				m := f.at(utc("05-12 12:00:00"))
				p := m.whole(ddl.PartitionDrop)
				m.engine.crew.BeforePacket = func() {
					if f.Text(f.In("SELECT COUNT(*) FROM {t}_c.departure WHERE state = 'ready'")) == "1" {
						_ = m.db.Close() // the engine's own session goes on
					}
				}
				m.mustTick()
				m.engine.crew.Work(t.Context())
				if got := f.Text(f.In("SELECT GROUP_CONCAT(state) FROM {t}_c.departure")); got != "taken" {
					t.Fatalf("the departure is %q when the node dies, want taken", got)
				}

				next(f, p)
				counted := f.In("SELECT (SELECT COALESCE(SUM(deleted), 0) FROM {t}_c.task) + " +
					"(SELECT COALESCE(SUM(deleted), 0) FROM {t}_c.job_history)")
				if gone := 8 - f.Number(f.In("SELECT COUNT(*) FROM {t}.t")); f.Number(counted) != gone {
					t.Errorf("%s rows are counted as deleted, %d are gone", f.Text(counted), gone)
				}
				if now, err := f.Store.PolicyByID(t.Context(), p.ID); err != nil || now.Version != p.Version {
					t.Errorf("the policy is in version %d (%v), want %d", now.Version, err, p.Version)
				}
			})
		}
	})
}

// TestTruncatedUnnoted: the server ends the session when a partition has been emptied and nobody has noted it. As
// long as it is empty, there is nothing in it that somebody may have put there: what comes later goes, too.
func TestTruncatedUnnoted(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.days()
		m := f.at(utc("05-12 12:00:00"))
		m.whole(ddl.PartitionTruncate)
		m.mustTick()
		f.Exec(f.In("ALTER TABLE {t}.t TRUNCATE PARTITION p1")) // is what an engine leaves then
		m.pass()

		f.Exec(f.In("INSERT INTO {t}.t VALUES (9, '2027-05-09 10:00:00')"))
		f.at(utc("05-12 13:00:01")).pass()
		if got := f.divided(); got != "5,8 in p0,p1,p2,p3,p4" {
			t.Errorf("%s is left", got)
		}
	})
}

// sides are the tables that partitions have become.
func (f *fixture) sides() string {
	f.T.Helper()
	return f.Text(f.In("SELECT COALESCE(GROUP_CONCAT(table_name ORDER BY table_name), '') " +
		"FROM information_schema.tables WHERE table_schema = '{t}' AND table_name LIKE 'ttlproxy%'"))
}

// TestAsidesAreKept: what a partition has become is kept for its grace, and then dropped, if its policy is
// still in force and nobody has put another table in its place.
func TestAsidesAreKept(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.days()
		m := f.at(utc("05-12 12:00:00"))
		p := m.exchanges("24h")
		m.pass()

		f.wantSides("ttlproxy_2_p1,ttlproxy_3_p2")
		if got := f.Text(f.In("SELECT GROUP_CONCAT(id ORDER BY id) FROM {t}.ttlproxy_2_p1")); got != "3,4" {
			t.Errorf("rows %s are kept, want 3 and 4", got)
		}
		f.at(utc("05-12 12:59:59")).pass()
		f.wantSides("ttlproxy_2_p1,ttlproxy_3_p2")

		if err := f.Store.Pause(t.Context(), "test", p.ID, "", time.Time{}); err != nil {
			t.Fatal(err)
		}
		f.at(utc("05-12 13:00:01")).pass()
		f.wantSides("ttlproxy_2_p1,ttlproxy_3_p2")

		f.Exec(f.In("DROP TABLE {t}.ttlproxy_3_p2"), f.In("CREATE TABLE {t}.ttlproxy_3_p2 (id INT)"))
		if err := f.Store.Resume(t.Context(), "test", p.ID); err != nil {
			t.Fatal(err)
		}
		f.at(utc("05-12 13:00:02")).pass()
		f.wantSides("ttlproxy_3_p2")

		if got := f.Text(f.In("SELECT GROUP_CONCAT(CONCAT_WS(' ', partition_name, state) ORDER BY partition_name) " +
			"FROM {t}_c.departure")); got != "p1 settled,p2 settled" {
			t.Errorf("the catalog says %s", got)
		}
	})
}

func (f *fixture) wantSides(want string) {
	f.T.Helper()
	if got := f.sides(); got != want {
		f.T.Errorf("got tables %s, want %s", got, want)
	}
}

// TestAsideOfARemovedPolicy: nothing is dropped any more in the name of a policy that was removed, not even
// if that was about to happen.
func TestAsideOfARemovedPolicy(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.days()
		m := f.at(utc("05-12 12:00:00"))
		p := m.exchanges("24h")
		m.pass()

		late := f.at(utc("05-12 13:00:01"))
		over, err := late.store.Over(t.Context())
		if err != nil || len(over) != 2 {
			t.Fatalf("got %d that are over, %v", len(over), err)
		}
		ending, err := late.store.EndKept(t.Context(), over[0], p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := late.engine.store.EndingGuard(ending); f.Text("SELECT 1 = (SELECT "+got+")") == "" {
			t.Error("the guard cannot be asked")
		}

		if err := f.Store.Remove(t.Context(), catalog.Client{Account: "test"}, p.Table); err != nil {
			t.Fatal(err)
		}
		if got := f.Text(f.In("SELECT GROUP_CONCAT(state) FROM {t}_c.departure")); got != "kept,kept" {
			t.Errorf("the departures are %s, want them kept", got)
		}
		if _, err := late.store.EndKept(t.Context(), over[1], p, 0); err == nil {
			t.Error("the policy is gone, and what it kept may be dropped")
		}
		f.at(utc("05-12 14:00:00")).pass()
		f.wantSides("ttlproxy_2_p1,ttlproxy_3_p2")
	})
}
