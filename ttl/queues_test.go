package ttl

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// queued declares a policy on t that asks for an expiry queue, and perhaps for more.
func (f *fixture) queued(options map[string]string) catalog.Policy {
	f.T.Helper()
	all := map[string]string{ddl.OptionPlan: ddl.PlanQueue}
	maps.Copy(all, options)

	p, err := f.Store.Declare(f.T.Context(), catalog.Client{Account: "test"}, catalog.Declaration{
		Table: catalog.Table{Schema: f.Schema, Name: "t"},
		Rule: catalog.Rule{
			Column: "made", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1s",
			TimeZone: "UTC", ZoneSource: catalog.ZoneFromTable, Options: all,
		},
	})
	if err != nil {
		f.T.Fatal(err)
	}
	return p
}

// finishedBy counts jobs that have finished by a plan and deleted so many rows.
func (f *fixture) finishedBy(plan string, deleted int) int {
	f.T.Helper()
	return f.Number(fmt.Sprintf("SELECT COUNT(*) FROM %s_c.job_history WHERE state = 'finished' AND plan = '%s' "+
		"AND deleted = %d", f.Schema, plan, deleted))
}

// entryID is the key of an entry's row.
const entryID = `CAST(SUBSTRING_INDEX(SUBSTR(row_key, 3), '"', 1) AS UNSIGNED)`

// inQueue counts the rows of t with a date that have their entry, and the entries besides.
func (f *fixture) inQueue() (have, others int) {
	f.T.Helper()
	have = f.Number(f.In("SELECT COUNT(*) FROM {t}_c.expiry_entry JOIN {t}.t ON t.id = " + entryID +
		" AND dated = t.made"))
	return have, f.Number(f.In("SELECT COUNT(*) FROM {t}_c.expiry_entry")) - have
}

// outdate makes the queue believe that rows have expired.
func (f *fixture) outdate(where string) {
	f.T.Helper()
	f.Wait("the queue to be changed", func() bool {
		_, err := f.Admin.ExecContext(f.T.Context(), f.In("UPDATE {t}_c.expiry_entry SET dated = '2020-01-01' + INTERVAL "+
			entryID+" SECOND WHERE "+entryID+" "+where))
		if my, ok := errors.AsType[*mysql.MySQLError](err); ok && (my.Number == 1213 || my.Number == 1205) {
			return false
		}
		if err != nil {
			f.T.Fatal(err)
		}
		return true
	})
}

// lives is a date of today: a row with it does not expire before tomorrow, and is in the queue by then.
const lives = "(UTC_TIMESTAMP() - INTERVAL 6 HOUR)"

// few makes t with so many rows, of which each hundredth has expired; each tenth has no date. All
// others expire within a day.
func (f *fixture) few(rows int) {
	f.T.Helper()
	f.Fill("t", rows)
	f.Exec(f.In("UPDATE {t}.t SET made = CASE WHEN id % 100 = 1 THEN '2020-01-01' WHEN id % 10 = 0 THEN NULL " +
		"ELSE " + lives + " + INTERVAL id SECOND END"))
}

func TestExpiryQueue(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.few(3000)
		p := f.queued(map[string]string{ddl.OptionShards: "3"})
		defer f.run(nil)()

		f.Wait("the census to end", func() bool { return f.finishedBy("census", 30) == 1 })
		if left := f.Rows("t"); left != "2970" {
			t.Fatalf("%s rows are left, want 2970", left)
		}
		if have, others := f.inQueue(); have != 2670 || others != 0 {
			t.Fatalf("the queue has %d of the 2670 rows with a date, and %d others", have, others)
		}
		if shards := f.Text(f.In("SELECT COUNT(DISTINCT shard) FROM {t}_c.expiry_entry")); shards != "3" {
			t.Errorf("got %s shards, want 3", shards)
		}

		// The queue is told what its rows are not, and some of them change behind its back.
		f.Exec(f.In("UPDATE {t}.t SET made = '2020-02-02' WHERE id IN (2, 12, 22)"), // known to have expired
			f.In("UPDATE {t}.t SET made = "+lives+" + INTERVAL 3 HOUR WHERE id = 3"), // refreshed
			f.In("UPDATE {t}.t SET made = '2031-01-01' WHERE id = 7"),                // for long: a census will see it
			f.In("UPDATE {t}.t SET made = NULL WHERE id = 4"),
			f.In("DELETE FROM {t}.t WHERE id = 5"),
			f.In("UPDATE {t}.t SET made = '2020-03-03' WHERE id = 99")) // nobody tells the queue
		f.outdate("IN (2, 12, 22, 3, 4, 5, 6, 7)")
		f.Exec(f.In(`INSERT INTO {t}_c.expiry_entry SELECT id, 1, '2020-01-01', x'01', 'no key' FROM {t}_c.expiry_queue`),
			f.In(`INSERT INTO {t}_c.expiry_entry SELECT id, 0, '2020-01-01', x'02', '["1", "2"]' FROM {t}_c.expiry_queue`))

		f.Wait("the queue to be drained", func() bool { return f.finishedBy("queue", 3) == 1 })
		if gone := f.Text(f.In("SELECT 7 - COUNT(*) FROM {t}.t WHERE id IN (2, 12, 22, 3, 4, 5, 6)")); gone != "4" {
			t.Errorf("%s rows are gone, want the three that have expired, and the one that was deleted", gone)
		}
		f.Wait("the queue to be corrected", func() bool {
			have, others := f.inQueue()
			return have == 2670-3-1-1-1-1 && others == 1 // 99 has another date
		})
		if f.Text(f.In("SELECT COUNT(*) FROM {t}.t WHERE id = 99")) != "1" {
			t.Error("a row is gone of which the queue does not know that it has expired")
		}

		f.request(p)
		f.Wait("all expired rows to go", func() bool { return f.finishedBy("census", 1) == 1 })
		f.Wait("no entry to be left over", func() bool {
			f.outdate("= 99")
			_, others := f.inQueue()
			return others == 0
		})
	})
}

// TestQueueIsOnlyAHint tells the queue that everything has expired, over and over, while an
// application goes on: nothing goes that should not.
func TestQueueIsOnlyAHint(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.few(2000)
		f.queued(nil)
		stop := f.run(nil)
		f.Wait("the census to end", func() bool { return f.finishedBy("census", 20) == 1 })

		var app sync.WaitGroup
		rnd := rand.New(rand.NewPCG(1, 1))
		expired := map[int]bool{}
		for id := 1; id <= 2000; id++ { // the application decides for once and for all which of its rows expire
			expired[id] = id%100 == 1 || id%10 != 0 && rnd.IntN(40) == 0
		}
		app.Go(func() {
			for round := range 20 {
				for id := 1 + round; id <= 2000; id += 20 {
					made := lives
					if expired[id] {
						made = "'2021-01-01'"
					}
					f.Exec(f.In(fmt.Sprintf("UPDATE {t}.t SET made = %s + INTERVAL %d SECOND WHERE id = %d "+
						"AND made IS NOT NULL", made, rnd.IntN(1000), id)))
				}
				f.outdate("% 2 = " + strconv.Itoa(round%2))
			}
		})
		app.Wait()

		want := 0
		for _, e := range expired {
			if !e {
				want++
			}
		}
		f.Wait("the expired rows to go", func() bool {
			f.outdate("> 0")
			return f.due() == 0
		})
		if left := f.Number(f.In("SELECT COUNT(*) FROM {t}.t")); left != want {
			t.Errorf("%d rows are left, want the %d that have not expired", left, want)
		}
		f.Wait("the queue to be right again", func() bool {
			have, others := f.inQueue()
			return have == want-200 && others == 0
		})
		stop()
	})
}

// TestQueueOfAnotherTable: what was written down of a table is of no use for another one that has its
// name, and is removed; so is that of a policy which is gone.
func TestQueueOfAnotherTable(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.few(1000)
		p := f.queued(nil)
		stop := f.run(nil)
		f.Wait("the census to end", func() bool { return f.finishedBy("census", 10) == 1 })
		first := f.Text(f.In("SELECT id FROM {t}_c.expiry_queue WHERE policy_id IS NOT NULL"))

		f.Exec(f.In("TRUNCATE TABLE {t}.t"), f.In("INSERT INTO {t}.t VALUES (1, "+lives+", ''), (2, '2020-01-01', '')"))
		f.Wait("the new table to be looked at", func() bool {
			if f.asks() {
				f.approve(p)
			}
			return f.Rows("t") == "1"
		})
		f.Wait("the entries of the old one to go", func() bool {
			if err := f.Store.ClearExpiryQueues(t.Context()); err != nil {
				t.Fatal(err)
			}
			return f.Text(f.In("SELECT COUNT(*) FROM {t}_c.expiry_entry")) == "1" &&
				f.Text(f.In("SELECT id FROM {t}_c.expiry_queue")) != first
		})

		if err := f.Store.Remove(t.Context(), catalog.Client{Account: "test"}, p.Table); err != nil {
			t.Fatal(err)
		}
		f.Wait("nothing to be left", func() bool {
			return f.Text(f.In("SELECT (SELECT COUNT(*) FROM {t}_c.expiry_entry) + "+
				"(SELECT COUNT(*) FROM {t}_c.expiry_queue)")) == "0"
		})
		stop()
	})
}

// TestQueueThatIsBroken: whatever happens to the tables of the queue, the application's statements are
// none of its business, and rows go without it. The reason is shown.
func TestQueueThatIsBroken(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.few(1000)
		f.queued(nil)
		defer f.run(nil)()
		f.Wait("the census to end", func() bool { return f.finishedBy("census", 10) == 1 })

		for i, broken := range []string{
			"ALTER TABLE {t}_c.expiry_entry CHANGE row_key the_key TEXT NOT NULL", "DROP TABLE {t}_c.expiry_entry",
			"DROP TABLE {t}_c.expiry_queue",
		} {
			f.Exec(f.In(broken), f.In(fmt.Sprintf("INSERT INTO {t}.t VALUES (%d, '2030-01-01', '')", 5000+i)),
				f.In(fmt.Sprintf("UPDATE {t}.t SET made = '2020-02-02' WHERE id = %d", 2+i)),
				f.In(fmt.Sprintf("DELETE FROM {t}.t WHERE id = %d", 52+i)))
			f.Wait("the row to go, after "+broken, func() bool {
				return f.Number(f.In(fmt.Sprintf("SELECT COUNT(*) FROM {t}.t WHERE id = %d", 2+i))) == 0
			})
			f.Wait("the reason to be told", func() bool {
				return f.Number(f.In("SELECT COUNT(*) FROM {t}_c.job_history WHERE state = 'finished' AND plan = 'range' "+
					"AND plan_reason LIKE '%; no expiry queue: error 1%'")) > 0
			})
		}
		if left := f.Rows("t"); left != "987" {
			t.Errorf("%s rows are left, want 987", left)
		}
	})
}

// TestQueueAfterATakeover: whoever goes on with a census leaves no row out.
func TestQueueAfterATakeover(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.few(8000)
		f.queued(nil)

		for range 4 {
			e, stop := f.engineOf(nil)
			_ = e
			f.Wait("some of the census", func() bool {
				return f.Number(f.In("SELECT COALESCE(MAX(batch + (cursor_key <> '')), 1) FROM {t}_c.task")) > 0
			})
			stop()
		}

		defer f.run(nil)()
		f.Wait("the census to end", func() bool {
			return f.Number(f.In("SELECT COALESCE(SUM(deleted), 0) FROM {t}_c.job_history WHERE plan = 'census'")) == 80
		})
		if have, others := f.inQueue(); have != 7120 || others != 0 {
			t.Errorf("the queue has %d of the 7120 rows with a date, and %d others", have, others)
		}
	})
}

// TestQueuesOfAllKinds: keys of several columns and of letters, dates of every kind, partitions, and
// rows that others depend on.
func TestQueuesOfAllKinds(t *testing.T) {
	t.Parallel()
	kinds := map[string]struct {
		create  []string
		options map[string]string
		due     int // rows that go by the queue
	}{
		"letters": {create: []string{
			"CREATE TABLE {t}.t (name VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, code VARBINARY(8), " +
				"made TIMESTAMP(6) NULL, id INT, PRIMARY KEY (name, code))",
			"INSERT INTO {t}.t SELECT CONCAT('Käse ''\\\\', id), UNHEX(LPAD(HEX(id), 8, 'F')), " +
				"made + INTERVAL 5 MICROSECOND, id FROM {t}.of",
		}, due: 3},
		"days": {create: []string{
			"CREATE TABLE {t}.t (id INT PRIMARY KEY, made DATE)",
			"INSERT INTO {t}.t SELECT id, IF(made > '2021-01-01', DATE(UTC_TIMESTAMP() + INTERVAL 6 HOUR), made) FROM {t}.of",
		}, due: 3},
		"partitions": {create: []string{
			"CREATE TABLE {t}.t (id INT, made DATETIME, PRIMARY KEY (id)) PARTITION BY HASH (id) PARTITIONS 3",
			"INSERT INTO {t}.t SELECT id, made FROM {t}.of",
		}, due: 3},
		"children that stay": {create: []string{
			"CREATE TABLE {t}.t (id INT PRIMARY KEY, made DATETIME)", "INSERT INTO {t}.t SELECT id, made FROM {t}.of",
			"CREATE TABLE {t}.child (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES {t}.t (id))",
			"INSERT INTO {t}.child VALUES (1, 12)",
		}, options: map[string]string{ddl.OptionForeignKeys: ddl.ForeignKeysSkip}, due: 2},
		"children that go": {create: []string{
			"CREATE TABLE {t}.t (id INT PRIMARY KEY, made DATETIME)", "INSERT INTO {t}.t SELECT id, made FROM {t}.of",
			"CREATE TABLE {t}.child (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES {t}.t (id))",
			"INSERT INTO {t}.child VALUES (1, 12)",
		}, options: map[string]string{
			ddl.OptionForeignKeys: ddl.ForeignKeysChildren, ddl.OptionDependents: `["` + "`{t}`.`child`" + `"]`,
		}, due: 3},
	}

	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, k := range kinds {
			t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.few(500)
				f.Exec(f.In("RENAME TABLE {t}.t TO {t}.of"))
				for _, statement := range k.create {
					f.Exec(f.In(statement))
				}
				options := maps.Clone(k.options)
				for name := range options {
					options[name] = f.In(options[name])
				}
				f.queued(options)
				defer f.run(nil)()

				f.Wait("the census to end", func() bool { return f.Rows("t") == "495" })
				f.Wait("the queue to be filled", func() bool {
					return f.Text(f.In("SELECT COUNT(*) FROM {t}_c.expiry_entry")) == "445"
				})
				f.Exec(f.In("UPDATE {t}.t SET made = '2020-02-02' WHERE id IN (2, 12, 22)"),
					f.In("UPDATE {t}_c.expiry_entry SET dated = '2020-02-02'"))
				if name == "letters" { // the same key to the server
					f.Exec(f.In("UPDATE {t}.t SET name = UPPER(name) WHERE id = 12"))
				}

				f.Wait("what has expired to go", func() bool { return f.Rows("t") == strconv.Itoa(495-k.due) })
				f.Wait("the queue to be right again", func() bool {
					return f.Number(f.In("SELECT COUNT(*) FROM {t}_c.expiry_entry")) == 445-k.due &&
						f.Number(f.In("SELECT COUNT(*) FROM {t}_c.expiry_entry WHERE dated < '2021-01-01'")) == 3-k.due
				})
			})
		}
	})
}

// TestRefreshedInTheMiddle: a row that is refreshed between the look at it and the DELETE stays, and so
// do the entries of its batch, which the next job corrects.
func TestRefreshedInTheMiddle(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.few(500)
		f.queued(nil)

		var once sync.Once
		ready := make(chan struct{})
		defer f.run(func(c *Config) {
			c.beforePacket = func() {
				select {
				case <-ready:
					once.Do(func() { f.Exec(f.In("UPDATE {t}.t SET made = " + lives + " WHERE id = 12")) })
				default:
				}
			}
		})()

		f.Wait("the census to end", func() bool { return f.finishedBy("census", 5) == 1 })
		close(ready)
		f.Exec(f.In("UPDATE {t}.t SET made = '2020-02-02' WHERE id IN (2, 12, 22)"))
		f.outdate("IN (2, 12, 22)")

		f.Wait("the two others to go", func() bool { return f.Rows("t") == "493" })
		f.Wait("the queue to be right again", func() bool {
			have, others := f.inQueue()
			return have == 443 && others == 0
		})
		if f.Text(f.In("SELECT COUNT(*) FROM {t}.t WHERE id = 12")) != "1" {
			t.Error("a row went that was refreshed")
		}
	})
}

// approve lets a policy go on that waits for a person.
func (f *fixture) approve(p catalog.Policy) {
	f.T.Helper()
	now, err := f.Store.PolicyByID(f.T.Context(), p.ID)
	if err != nil {
		f.T.Fatal(err)
	}
	if _, err := f.Store.Consent(f.T.Context(), "test", p.ID, now.Version, catalog.Consent{}); err != nil {
		f.T.Fatal(err)
	}
}
