package signal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// replica is one server that is watched.
type replica struct {
	address string
	named   bool      // by somebody, not by the server that it replicates from
	listed  time.Time // by that server, last
	db      *sql.DB
	since   time.Time // it is asked for our token, less the rests
	course  course    // of its lag

	mu   sync.Mutex
	busy bool
	shown
}

// shown is what a replica has said so far.
type shown struct {
	failed   string    // why it has not answered the last question; empty if it has
	answered time.Time // when it did last
	quiet    time.Time // since when it has not, less the rests
	self     bool      // it is the very server on which rows are deleted
	ours     bool      // it has shown the token
	invents  bool      // with a number that was never written: what it shows says nothing
	number   uint64    // the last that came with it
	came     time.Time // when that was first seen
}

const (
	// replicaConnections of ours a replica has at most.
	replicaConnections = 2
	// replicaTimeout is for each step of a question.
	replicaTimeout = time.Second
	// strangerAfter is how long a replica may show something else than our heartbeat.
	strangerAfter = 10 * time.Second
	// stuckAfter is how long a lag may last without falling until it is not our doing.
	stuckAfter = 5 * time.Minute
)

func newReplica(address string, c *mysql.Config) *replica {
	k := &replica{address: address, since: time.Now()}
	k.quiet = k.since
	c.Timeout, c.ReadTimeout, c.WriteTimeout = replicaTimeout, replicaTimeout, replicaTimeout
	c.Params = map[string]string{"lock_wait_timeout": endsItself}
	c.ConnectionAttributes = "program_name:ttlproxy"
	c.Logger = &mysql.NopLogger{} // what goes wrong is in the reading
	connector, err := mysql.NewConnector(Bounded(c))
	if err != nil {
		k.busy, k.failed = true, err.Error() // there is nobody to ask
		return k
	}

	k.db = sql.OpenDB(connector)
	k.db.SetMaxOpenConns(replicaConnections)
	k.db.SetMaxIdleConns(1)
	k.db.SetConnMaxIdleTime(10 * time.Second)
	return k
}

func (k *replica) close() {
	if k.db != nil {
		_ = k.db.Close() // whoever is still asking gets an error
	}
}

// begin reports whether it may be asked: not while it has yet to answer.
func (k *replica) begin() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	free := !k.busy
	k.busy = true
	return free
}

// rested is told that nobody was asked between a beat and now: nobody is judged by that time.
func (k *replica) rested(last, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.since, k.quiet = without(k.since, last, now), without(k.quiet, last, now)
}

// without moves a beginning so that a rest is left out of the time since then. The last question before it counts as
// long as it may have taken: otherwise one whose jobs are short would never be missed.
func without(began, last, now time.Time) time.Time {
	if began.After(last) {
		return now
	}
	return now.Add(began.Sub(last) - patience)
}

// question is what a replica is asked.
type question struct {
	query   string // for token and number
	token   string
	number  uint64
	highest *atomic.Uint64 // there is none above it
	self    string         // identity of the server on which rows are deleted
}

// follow asks until the replica has the number, or until the next one is due.
func (k *replica) follow(ctx context.Context, q question) {
	var err error
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("asking it failed: %v", broken)
		}
		k.end(err)
	}()

	for began := time.Now(); ; {
		var there bool
		if there, err = k.ask(ctx, q); there || err != nil || time.Since(began) > probeFor {
			return
		}

		timer := time.NewTimer(probeEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// end records how a question ended.
func (k *replica) end(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.busy, k.failed = false, ""
	if err != nil {
		k.failed = plainly(err)
	}
}

// plainly says what an error means here.
func plainly(err error) string {
	my, refused := errors.AsType[*mysql.MySQLError](err)
	switch {
	case refused && (my.Number == codeNoTable || my.Number == codeNoSchema):
		return "it does not have the catalog's heartbeat: it does not replicate from this server, or leaves it out"
	case refused && my.Number == codeTableDenied:
		return "the account may not read the catalog's heartbeat there: it does not replicate from this server, " +
			"or its accounts do not"
	case errors.Is(err, sql.ErrNoRows):
		return "the catalog's heartbeat has not come yet"
	default:
		return err.Error()
	}
}

// ask reads what the replica has, and reports whether that is the number that was asked for.
func (k *replica) ask(ctx context.Context, q question) (there bool, err error) {
	conn, err := k.db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()

	name, err := identity(ctx, conn)
	if err != nil {
		return false, err
	}

	var token string
	var number uint64
	if err := conn.QueryRowContext(ctx, q.query).Scan(&token, &number); err != nil {
		return false, err
	}

	return k.take(q, name, token, number), nil
}

// take notes an answer.
func (k *replica) take(q question, name, token string, number uint64) (there bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answered, k.self, k.failed = time.Now(), q.self != "" && name == q.self, ""
	k.quiet = k.answered
	k.invents = token == q.token && number > q.highest.Load()
	if token == q.token && !k.invents && (!k.ours || number > k.number) {
		k.ours, k.number, k.came = true, number, k.answered
	}
	return token == q.token && number >= q.number
}

// look is what is known now.
func (k *replica) look() shown {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shown
}

// reading judges a replica that is so far behind.
func (k *replica) reading(s shown, lag, most time.Duration, hold bool) Reading {
	r := Reading{
		Source: k.address, State: Measured, Unit: "ms", Threshold: float64(most.Milliseconds()),
		Value: float64(lag.Milliseconds()), Hold: hold,
	}
	silent := time.Since(s.quiet)

	switch {
	case s.self:
		r.State, r.Detail = Unknown, "it is the very server on which rows are deleted, not a replica"
	case silent > fresh && !k.named && s.answered.IsZero():
		r.State, r.Detail = NotSeen, "reported by the server, but it has never answered: "+s.failed
	case silent > fresh:
		r.State, r.Detail = Unknown, fmt.Sprintf("it has not answered for %s: %s", ddl.FormatDuration(silent), s.failed)
	case s.answered.IsZero():
		r.State, r.Detail = NotSeen, "it has yet to answer"
	case s.invents:
		r.State, r.Detail = Unknown, "it shows a number of the heartbeat that was never written"
	case !s.ours && lag > strangerAfter:
		r.State = Unknown
		r.Detail = fmt.Sprintf("it has not shown our heartbeat for %s: "+
			"it does not replicate from this server, or is stuck", ddl.FormatDuration(lag))
	default:
		k.course.judge(&r, lag, most)
	}

	if away := time.Since(k.listed); !k.named && !k.listed.IsZero() && away > 2*discoverEvery && r.State != NotSeen {
		r.Detail = strings.TrimPrefix(r.Detail+"; the server has not listed it for "+ddl.FormatDuration(away), "; ")
	}
	return r
}

// course is how a lag moves.
type course struct {
	at    time.Time
	lag   time.Duration
	slope float64 // smoothed: seconds of lag in a second

	highAt time.Time // since when it is over the threshold without having fallen; zero while it is not
	high   time.Duration
}

const (
	// foresight is how far ahead the lag is foreseen: what has been deleted by now shows only then.
	foresight = 2 * time.Second
	// smoothing is the part of the slope that is new each time.
	smoothing = 0.5
	// fallen is to what part a lag has to fall to count as falling.
	fallen = 0.9
)

// judge says what to expect of a lag, and that it is not our doing.
func (c *course) judge(r *Reading, lag, most time.Duration) {
	if time.Since(c.at) > restsAfter {
		c.highAt = time.Time{} // nobody knows what it did meanwhile
	}
	r.Ahead = c.ahead(lag, most)
	if stuck := c.stuck(lag, most); stuck >= stuckAfter {
		r.State = Unknown
		r.Detail = fmt.Sprintf("a lag of %s has not fallen for %s although deletion makes way: "+
			"something else causes it", ddl.FormatDuration(lag), ddl.FormatDuration(stuck))
	}
}

// ahead is the lag in milliseconds that is to be expected soon. While it is still too long, a lag that
// falls is no reason to delete faster.
func (c *course) ahead(lag, most time.Duration) float64 {
	now := time.Now()
	if took := now.Sub(c.at); !c.at.IsZero() && took > 0 && took < foresight {
		c.slope += smoothing * ((lag-c.lag).Seconds()/took.Seconds() - c.slope)
	} else {
		c.slope = 0
	}
	c.at, c.lag = now, lag

	expected := lag + time.Duration(c.slope*float64(foresight))
	if lag > most {
		expected = max(expected, most)
	}
	return float64(max(expected, 0).Milliseconds())
}

// stuck is for how long a lag has been over the threshold without falling.
func (c *course) stuck(lag, most time.Duration) time.Duration {
	switch {
	case lag <= most:
		c.highAt = time.Time{}
		return 0
	case c.highAt.IsZero(), float64(lag) < fallen*float64(c.high):
		c.highAt, c.high = time.Now(), lag
	}
	return time.Since(c.highAt)
}
