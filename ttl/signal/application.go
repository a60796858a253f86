package signal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Application tells whether anybody but the engine is at work on the server. Whoever is alone harms nobody; who is
// not has to be left room at once, and not only when somebody has been hurt. So it is no pressure, its value says
// nothing about how much more the server can bear, and it is looked at more often than any signal.
//
// MySQL's performance_schema counts the transactions of each account, in one row, which costs next to nothing;
// statements have hundreds of rows, each a sum over all connections, and are asked for less often, for the sake of
// long transactions. MariaDB counts nothing by default, and tells of each connection when its last statement began.
type Application struct {
	mu      sync.Mutex
	way     int       // by which it is known: of ways
	chosen  time.Time // when that was found out
	perSec  float64   // what others do
	busy    float64   // what they did when they were at work last
	present time.Time // when that was
	asked   time.Time // the first question since the last answer
	failed  string    // why that has not been answered
	did     float64   // a count of what others do
	steady  steady

	transactions, statements window   // of others
	estimate                 estimate // of their statements
	query                    int64    // the server's last one at the last look
	unlisted                 bool     // the server has no such list of those who are in the middle of something
}

const (
	// fewPerSecond are nobody, or somebody who does not notice.
	fewPerSecond = 20.0
	// workWindow is the time in which they are counted. One who does ten things at once is at work.
	workWindow = 500 * time.Millisecond
	// lookPatience is how long a look may take.
	lookPatience = 500 * time.Millisecond
	// presentFor is how long whoever was at work still is, unless steady says that he has gone.
	presentFor = time.Second
)

const (
	// Our own transactions show that they are counted.
	countTransactions = "SELECT COALESCE(SUM(IF(USER <> SUBSTRING_INDEX(USER(), '@', 1), COUNT_STAR, 0)), 0), " +
		"COALESCE(SUM(COUNT_STAR), 0) FROM performance_schema.events_transactions_summary_by_account_by_event_name " +
		"WHERE USER IS NOT NULL"

	countStatements = "SELECT COALESCE(SUM(COUNT_STAR), 0) FROM " + latencyTable +
		" WHERE USER <> SUBSTRING_INDEX(USER(), '@', 1)"

	ofOthers = "USER NOT IN (SUBSTRING_INDEX(USER(), '@', 1), 'system user', 'event_scheduler') " +
		"AND COMMAND NOT LIKE 'Binlog Dump%'"
	// Transactions count when they have ended, which may be in a tenth of a second: so whoever is in the middle of one
	// counts, too, unless it takes long.
	countUnderWay = "SELECT COUNT(*) FROM performance_schema.processlist WHERE " + ofOthers +
		" AND COMMAND NOT IN ('Sleep', 'Daemon') AND TIME <= 1"
	// MariaDB numbers the statements of the server.
	countNewest = "SELECT MAX(QUERY_ID), COALESCE(SUM(others AND QUERY_ID > ?), 0), " +
		"COALESCE(SUM(IF(others AND QUERY_ID > ?, TIME_MS, 0)), 0) FROM (SELECT QUERY_ID, TIME_MS, " + ofOthers +
		" AS others FROM information_schema.processlist) all_of_them"
	// Whoever is in the middle of something has not gone, however quiet he is.
	countInTheMiddle = "SELECT COUNT(*) FROM information_schema.processlist WHERE " + ofOthers +
		" AND (COMMAND NOT IN ('Sleep', 'Daemon') OR " +
		"ID IN (SELECT trx_mysql_thread_id FROM information_schema.innodb_trx))"
	// MySQL has the seconds since the last statement of those who sleep began.
	countAwake = "SELECT COUNT(*) FROM information_schema.processlist WHERE " + ofOthers +
		" AND (COMMAND NOT IN ('Sleep', 'Daemon') OR COMMAND = 'Sleep' AND TIME = 0)"
)

// nobody is why something decides nothing.
const nobody = "hardly anybody else is at work"

// Name is what readings and settings call it.
func (*Application) Name() string { return "application" }

// Look asks the server, and reports whether others are at work. A thorough look costs more and sees more. No Watch
// stands around it, so that it looks after itself: a panic is a question without an answer.
func (a *Application) Look(ctx context.Context, server Querier, thorough bool) (atWork bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer func() {
		if broken := recover(); broken != nil {
			a.failed, atWork = brief(fmt.Sprintf("it failed: %v", broken)), a.atWork()
		}
	}()

	now := time.Now()
	if a.asked.IsZero() {
		a.asked = now
	}
	asking, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	perSecond, known, err := a.measure(asking, server, thorough)
	if err != nil {
		a.failed = brief(err.Error())
		return a.atWork()
	}

	a.asked, a.failed = time.Time{}, ""
	a.perSec = perSecond
	switch soonest := time.Now().Add(workWindow - presentFor); {
	case perSecond >= fewPerSecond:
		a.present, a.busy = now, perSecond
	case !known && soonest.After(a.present): // until it can be known
		a.present, a.busy = soonest, perSecond
	}
	if ways[a.way].counts && a.steady.falls(a.did) && idle(asking, server) {
		a.steady.fallen = now
	}
	return a.atWork()
}

// idle reports that nobody else is in the middle of a statement or a transaction; false if that cannot be known.
func idle(ctx context.Context, server Querier) bool {
	var n int
	return server.QueryRowContext(ctx, countInTheMiddle).Scan(&n) == nil && n == 0
}

// AtWork reports whether others were at work when it was looked last. Until anything is known they are.
func (a *Application) AtWork() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.atWork()
}

func (a *Application) atWork() bool {
	never := a.present.IsZero() && !a.asked.IsZero() // has anything been known
	return time.Since(a.present) < presentFor && !a.steady.overrules(a.present) || a.unknown() || never
}

// unknown reports that the server has not said for long what others do.
func (a *Application) unknown() bool { return !a.asked.IsZero() && time.Since(a.asked) > fresh }

// Reading is what it says, as signals do.
func (a *Application) Reading() Reading {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := Reading{
		Signal: a.Name(), State: Measured, Value: a.perSec, Threshold: fewPerSecond, Unit: "/s", Bounds: true,
		Detail: ways[a.way].what, At: time.Now(),
	}
	switch {
	case a.unknown():
		r.State, r.Detail = Unknown, a.failed
	case a.steady.overrules(a.present):
		r.State, r.Detail = NotSeen, "whoever was at work has ended"
	case !a.atWork():
		r.State, r.Detail = NotSeen, nobody+": "+figure(a.perSec)+"/s"
	case a.busy < fewPerSecond:
		r.State, r.Detail = NotSeen, "whether others are at work is being found out"
	default:
		r.Value = a.busy
	}
	return r
}

// ways are those to know what others do, the best first.
var ways = [...]struct {
	what    string
	counts  bool // what they do in all, in did
	measure func(a *Application, ctx context.Context, server Querier, thorough bool) (float64, bool, error)
}{
	{"transactions and statements of other accounts", true, (*Application).counted},
	{"statements of other accounts, an estimate: performance_schema counts none", true, (*Application).newest},
	{
		"others who were awake within a second: performance_schema counts none for this account", false,
		(*Application).awake,
	},
}

// errBlind: a server does not tell in this way.
var errBlind = errors.New("the server does not tell what others do")

// chosenFor is for how long a way is kept.
const chosenFor = 10 * time.Second

// measure is what others do per second; false until that is known.
func (a *Application) measure(ctx context.Context, server Querier, thorough bool) (float64, bool, error) {
	first := a.way
	if time.Since(a.chosen) > chosenFor {
		first, a.chosen, a.unlisted = 0, time.Now(), false
	}
	for i := first; i < len(ways); i++ {
		perSecond, known, err := ways[i].measure(a, ctx, server, thorough)
		if !errors.Is(err, errBlind) {
			if a.way != i {
				a.way = i
				a.steady.anew()
			}
			return perSecond, known, err
		}
	}
	return 0, false, errBlind
}

// counted takes what performance_schema counts.
func (a *Application) counted(ctx context.Context, server Querier, thorough bool) (float64, bool, error) {
	var others, all float64
	err := server.QueryRowContext(ctx, countTransactions).Scan(&others, &all)
	if _, refused := errors.AsType[*mysql.MySQLError](err); refused || err == nil && all == 0 {
		return 0, false, errBlind
	}
	if err != nil {
		return 0, false, err
	}
	a.did = others
	perSecond, known := a.transactions.per(others)
	if perSecond < fewPerSecond {
		underWay, err := a.underWay(ctx, server)
		if err != nil {
			return 0, false, err
		}
		perSecond += underWay / workWindow.Seconds()
	}
	if !thorough {
		return perSecond, known, nil
	}

	var statements float64
	err = server.QueryRowContext(ctx, countStatements).Scan(&statements)
	if _, refused := errors.AsType[*mysql.MySQLError](err); err != nil {
		if refused {
			err = nil
		}
		return perSecond, known, err
	}
	more, _ := a.statements.per(statements)
	return max(perSecond, more), known, nil
}

// underWay is how many others are in the middle of a statement; none where that is not told.
func (a *Application) underWay(ctx context.Context, server Querier) (n float64, err error) {
	if a.unlisted {
		return 0, nil
	}
	err = server.QueryRowContext(ctx, countUnderWay).Scan(&n)
	if _, refused := errors.AsType[*mysql.MySQLError](err); refused {
		a.unlisted, err = true, nil
	}
	return n, err
}

// newest estimates it from who has begun a statement since the last look, and how long ago.
func (a *Application) newest(ctx context.Context, server Querier, _ bool) (float64, bool, error) {
	var last int64
	var begun, ago float64
	err := server.QueryRowContext(ctx, countNewest, a.query, a.query).Scan(&last, &begun, &ago)
	if my, refused := errors.AsType[*mysql.MySQLError](err); refused && my.Number == codeNoColumn {
		return 0, false, errBlind
	}
	if err != nil {
		return 0, false, err
	}
	first := a.query == 0
	if a.query = last; first {
		return 0, false, nil
	}

	a.did += begun
	perSecond, known := a.estimate.add(begun, ago)
	return perSecond, known, nil
}

// awake says of a server that tells nothing else whether anybody runs something, or did within a second.
func (*Application) awake(ctx context.Context, server Querier, _ bool) (float64, bool, error) {
	var connections float64
	err := server.QueryRowContext(ctx, countAwake).Scan(&connections)
	if my, refused := errors.AsType[*mysql.MySQLError](err); refused && my.Number == codeUnreadable {
		connections, err = 1, nil // somebody runs what MySQL cannot show
	}
	return connections * fewPerSecond, true, err
}

// window is what a counter has counted in the last half second, or another length of time, however often it is told.
type window struct {
	length time.Duration // if it is another
	seen   []tick        // the first is that old, if any is
}

type tick struct {
	at    time.Time
	count float64
}

// per takes a count, and says how much more it is each second; false until that is known.
func (w *window) per(count float64) (perSecond float64, known bool) {
	now := time.Now()
	if n := len(w.seen); n > 0 && (count < w.seen[n-1].count || now.Sub(w.seen[n-1].at) > longest) {
		w.seen = w.seen[:0] // it has begun anew, or what was is over
	}
	w.seen = append(w.seen, tick{now, count})
	length := cmp.Or(w.length, workWindow)
	old := 0
	for old+1 < len(w.seen) && now.Sub(w.seen[old+1].at) >= length {
		old++
	}
	w.seen = append(w.seen[:0], w.seen[old:]...)

	first := w.seen[0]
	return (count - first.count) / max(now.Sub(first.at), length).Seconds(), len(w.seen) > 1
}

// span is how long ago the first of the counts is.
func (w *window) span() time.Duration {
	if len(w.seen) == 0 {
		return 0
	}
	return time.Since(w.seen[0].at)
}
