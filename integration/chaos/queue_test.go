package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// TestQueueOutlivesChaos fills an expiry queue, with pauses, and then lets an application and the
// faults of proxies loose on it. No statement of the application may fail, no row go that has not
// expired, and in the end the queue has an entry for each row with a date, and no other, but for a
// thousandth. TTLPROXY_QUEUE_ROWS says how many rows there are at the beginning.
func TestQueueOutlivesChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("needs servers: left out under -short")
	}
	length, seed, rows := lengthOf(t), seedOf(t), 100_000
	if s := os.Getenv("TTLPROXY_QUEUE_ROWS"); s != "" {
		var err error
		if rows, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}

	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			q := &queueRun{T: t, random: rand.New(rand.NewPCG(seed, 400)), rows: rows}
			q.start(flavour)
			q.fill(length)
			q.shake(length)
			q.judge()
		})
	}
}

// queueRun is one such run, on a server of its own. Rows with an id that can be divided by four expire
// while it lasts, or have no date; the others do not expire.
type queueRun struct {
	*testing.T
	random  *rand.Rand
	rows    int
	db      *sql.DB // around the proxies
	proxies []*node
	through []*sql.DB

	written atomic.Int64 // statements of the application
	failed  atomic.Int64
	failure atomic.Value // the first one

	mu   sync.Mutex
	kept map[int]bool // rows that have not expired, which the application has added (true) or removed since the fill
}

// queueLives is for how long rows live.
const queueLives = 24 * time.Hour

func (q *queueRun) start(flavour sandbox.Flavour) {
	q.Helper()
	s := mysqltest.Start(q.T, flavour, "--default-time-zone=+00:00", "--innodb-buffer-pool-size=512M",
		"--innodb-flush-log-at-trx-commit=2",
		"--max-binlog-size=128M", "--binlog-expire-logs-seconds=60") // it may be in memory, and an hour's is large
	exec1(q.T, s.Open(q.T, ""), "CREATE DATABASE app")
	q.db = s.Open(q.T, "app")
	q.kept = map[int]bool{}

	engine := s.Account(q.T, "engine", "ALL ON *.*")
	for range 3 {
		p := newNode(q.T, s.Addr(), engine.User, engine.Passwd)
		p.start(q.T)
		q.proxies = append(q.proxies, p)
		c := s.Config("app")
		c.Addr, c.Timeout = p.addr, time.Second
		q.through = append(q.through, mysqltest.Open(q.T, c))
	}
	q.say("SET GLOBAL ttl_brake_percent = 100", "SET GLOBAL ttl_brake_max_rows = 1000000000",
		"SET GLOBAL ttl_brake_factor = 0")
	q.Cleanup(func() {
		if q.Failed() {
			describe(q.T, s)
		}
	})
}

// say sends statements through the first proxy that takes them.
func (q *queueRun) say(statements ...string) {
	q.Helper()
	for _, statement := range statements {
		await(q.T, statement, time.Minute, func() (err error) {
			for _, db := range q.through {
				if _, err = db.ExecContext(q.Context(), mark+statement); err == nil {
					return nil
				}
			}
			return err
		})
	}
}

func (q *queueRun) number(query string) (n int) {
	q.Helper()
	if err := q.db.QueryRowContext(q.Context(), query).Scan(&n); err != nil {
		q.Fatalf("%s: %v", query, err)
	}
	return n
}

// date is the date of a row that is written now, of which jobs should have let go in the course of so
// much time if it is one of those that expire.
func date(id string, within time.Duration) string {
	return fmt.Sprintf("CASE WHEN %[1]s %% 4 > 0 THEN UTC_TIMESTAMP(3) - INTERVAL 3600 + %[1]s %% 1000 SECOND "+
		"WHEN %[1]s %% 20 = 0 THEN NULL "+
		"ELSE UTC_TIMESTAMP(3) - INTERVAL %[2]d SECOND + INTERVAL (%[1]s * 7919 %% %[3]d) * 1000 MICROSECOND END",
		id, int(queueLives/time.Second), max(within.Milliseconds(), 1))
}

// fill makes the table and its queue: the census is paused over and over, and its proxies are killed.
func (q *queueRun) fill(length time.Duration) {
	q.Helper()
	exec1(q.T, q.db, "CREATE TABLE t (id BIGINT PRIMARY KEY, at DATETIME(3) NULL, v VARCHAR(50) NOT NULL DEFAULT '')")
	exec1(q.T, q.db, "CREATE TABLE digits (n INT PRIMARY KEY)")
	exec1(q.T, q.db, "INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")
	const each = 10_000
	for from := 0; from < q.rows; from += each {
		id := fmt.Sprintf("(%d + a.n + 10 * b.n + 100 * c.n + 1000 * d.n)", from)
		exec1(q.T, q.db, fmt.Sprintf("INSERT INTO t SELECT %s, %s, REPEAT('v', 20) FROM digits a, digits b, digits c, "+
			"digits d WHERE %s < %d", id, date(id, length), id, q.rows))
	}

	began := time.Now()
	q.say("ALTER TABLE t TTL = at + INTERVAL 86400 SECOND TTL_JOB_INTERVAL = '1s' TTL_PLAN = 'QUEUE' TTL_QUEUE_SHARDS = 4")
	pauses := 0
	const done = "SELECT COUNT(*) FROM ttlproxy.job_history WHERE plan = 'census' AND state = 'finished'"
	const entries = "SELECT COUNT(*) FROM ttlproxy.expiry_entry"
	before := 0
	for q.number(done) == 0 {
		if pauses == 5 || q.number(entries) < before+q.rows/8 { // looks at a large one take long
			pause(q.Context(), 50*time.Millisecond+time.Duration(q.rows)*time.Microsecond/10)
			continue
		}
		q.say("PAUSE TTL FOR t")
		before = q.number(entries)
		pause(q.Context(), time.Duration(200+q.random.IntN(500))*time.Millisecond)
		if n := q.number(entries); n != before {
			q.Errorf("a paused census has written %d entries", n-before)
		}
		p := q.proxies[q.random.IntN(len(q.proxies))]
		p.Kill()
		p.start(q.T)
		q.say("RESUME TTL FOR t")
		pauses++
	}
	q.Logf("the queue of %d rows is filled after %v with %d pauses", q.rows, time.Since(began).Round(time.Millisecond),
		pauses)
	q.compare("after the fill", 1)
}

// patience is how long a census, or a look at everything, may take.
func (q *queueRun) patience() time.Duration {
	return 5*time.Minute + time.Duration(q.rows)*200*time.Microsecond
}

// entryID is the key of an entry's row.
const entryID = `CAST(SUBSTRING_INDEX(SUBSTR(row_key, 3), '"', 1) AS SIGNED)`

// compare counts the rows that have no entry, and the entries that have no row: neither may be more
// than a thousandth, the latter if they matter.
func (q *queueRun) compare(when string, matter int) {
	q.Helper()
	var missing, others, live int
	await(q.T, "the queue is right "+when, q.patience(), func() error {
		// What has expired meanwhile, or does while it is counted, is left out: jobs are at work on it.
		counting := 10*time.Second + time.Duration(q.rows)*50*time.Microsecond
		alive := fmt.Sprintf(" >= FROM_UNIXTIME(%d)", time.Now().Add(counting-queueLives).Unix())
		live = q.number("SELECT COUNT(*) FROM t WHERE t.at" + alive)
		found := q.number("SELECT COUNT(*) FROM ttlproxy.expiry_entry e JOIN t ON t.id = " + entryID +
			" AND e.dated = t.at WHERE t.at" + alive)
		missing = live - found
		others = q.number("SELECT COUNT(*) FROM ttlproxy.expiry_entry WHERE dated"+alive) - found
		if 1000*max(missing, matter*others) > live {
			return fmt.Errorf("of %d rows %d have no entry, and %d entries have no row", live, missing, others)
		}
		return nil
	})
	q.Logf("%s: of %d rows %d have no entry, and %d entries have no row", when, live, missing, others)
}

// shake lets application and faults loose.
func (q *queueRun) shake(length time.Duration) {
	q.Helper()
	ctx, cancel := context.WithTimeout(q.Context(), length)
	defer cancel()
	var app sync.WaitGroup
	for i := range 4 {
		random := rand.New(rand.NewPCG(uint64(q.rows), uint64(i)))
		app.Go(func() { q.work(ctx, random, i, length) })
	}

	censuses := 0
	for ctx.Err() == nil {
		pause(ctx, time.Duration(300+q.random.IntN(2000))*time.Millisecond)
		p := q.proxies[q.random.IntN(len(q.proxies))]
		switch q.random.IntN(8) {
		case 0, 1:
			p.Kill()
			p.start(q.T)
		case 2, 3:
			p.freeze(ctx, q.T, time.Duration(q.random.IntN(3000))*time.Millisecond)
		case 4:
			q.say("PAUSE TTL FOR t", "RESUME TTL FOR t")
		case 5:
			q.say("RUN TTL JOB FOR t") // a census in the middle of it all
			censuses++
		case 6: // the entries of some rows vanish, and others are told what is not so
			q.disturb(ctx)
		}
	}
	app.Wait()
	q.Logf("the application has run %d statements, with %d errors (first: %v); censuses asked for: %d",
		q.written.Load(), q.failed.Load(), q.failure.Load(), censuses)
}

// disturb changes the queue, as somebody might who thinks that it is theirs.
func (q *queueRun) disturb(ctx context.Context) {
	from := q.random.IntN(64)
	for _, statement := range []string{
		fmt.Sprintf("DELETE FROM ttlproxy.expiry_entry WHERE key_hash >= UNHEX('%02X') ORDER BY key_hash LIMIT 5", 4*from),
		fmt.Sprintf("UPDATE ttlproxy.expiry_entry SET dated = '2020-01-01' + INTERVAL %d SECOND WHERE key_hash >= "+
			"UNHEX('%02X') ORDER BY key_hash LIMIT 1", q.random.IntN(1e6), 4*from),
	} {
		if q.rows > 1_000_000 {
			return // which would be read whole
		}
		_, _ = q.db.ExecContext(ctx, mark+statement) // jobs may have them
	}
}

// work is one session of the application. Each has ids of its own, so that it knows what it has.
func (q *queueRun) work(ctx context.Context, random *rand.Rand, session int, length time.Duration) {
	next := q.rows + session
	for ctx.Err() == nil {
		id := 4*random.IntN(max(q.rows/4, 1)) + session // the ids of session 0 expire
		statement, kept := "", 0
		switch random.IntN(8) {
		case 0, 1, 2:
			next += 4
			id, kept = next, 1
			statement = fmt.Sprintf("INSERT INTO t VALUES (%d, %s, 'new')", id, date(strconv.Itoa(id), length))
		case 3, 4, 5:
			statement = fmt.Sprintf("UPDATE t SET at = %s WHERE id = %d", date(strconv.Itoa(id), length), id)
		case 6:
			statement = fmt.Sprintf("UPDATE t SET v = 'seen' WHERE id = %d", id)
		case 7:
			kept = -1
			statement = fmt.Sprintf("DELETE FROM t WHERE id = %d", id)
		}

		_, err := q.db.ExecContext(q.Context(), mark+statement)
		q.written.Add(1)
		if err != nil {
			q.failure.CompareAndSwap(nil, fmt.Sprintf("%s: %v", statement, err))
			q.failed.Add(1)
		}
		if kept != 0 && id%4 > 0 {
			q.mu.Lock()
			q.kept[id] = kept > 0
			q.mu.Unlock()
		}
		pause(ctx, time.Duration(random.IntN(5))*time.Millisecond)
	}
}

// judge waits until what has expired is gone, has the table read once more, and then tells what is
// wrong.
func (q *queueRun) judge() {
	q.Helper()
	if n := q.failed.Load(); n > 0 {
		q.Errorf("%d statements of the application failed, the first with %v", n, q.failure.Load())
	}

	q.say("RESUME TTL FOR t", "RUN TTL JOB FOR t")
	await(q.T, "what has expired goes", q.patience(), func() error {
		if n := q.number("SELECT COUNT(*) FROM t WHERE at < UTC_TIMESTAMP(3) - INTERVAL 86405 SECOND"); n > 0 {
			return fmt.Errorf("%d are left", n)
		}
		return nil
	})

	want := q.rows - (q.rows+3)/4
	for id, there := range q.kept {
		switch {
		case there && id >= q.rows:
			want++
		case !there && id < q.rows:
			want--
		}
	}
	if got := q.number("SELECT COUNT(*) FROM t WHERE id % 4 > 0"); got != want {
		q.Errorf("%d rows are left that have not expired, want %d", got, want)
	}

	// Entries of dates that rows once had stay until these come: they are made to come.
	q.compare("in the end, but for dates that rows once had", 0)
	await(q.T, "the clock is ahead", q.patience(), func() error {
		_, err := q.db.ExecContext(q.Context(), mark+"UPDATE ttlproxy.expiry_entry e LEFT JOIN t ON t.id = "+entryID+
			" AND e.dated = t.at SET e.dated = '2020-01-01' + INTERVAL FLOOR(1e12 * RAND()) MICROSECOND "+
			"WHERE t.id IS NULL AND e.dated >= UTC_TIMESTAMP(3) - INTERVAL 86390 SECOND")
		return err // perhaps a job has some of them
	})
	q.compare("in the end", 1)
}
