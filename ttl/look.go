package ttl

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// looks are how tables are served whose rows should go within seconds. Before a run is made for one
// of them, one statement for many of them reads the oldest date of each: a run that would find
// nothing is not made, and writes nothing; one that will is made as soon as there is something to
// find. Everything else about it is as with any run.
//
//	     ┌── due ──► run, with all that decides about one ──► its end ──┐
//	look ┤                                                              ├──► look again
//	     └── not yet: when the oldest row expires, or after a while ────┘
//
// What is known of a table is what its last run found. A table that a look cannot read, that has
// changed its policy, or that has not been examined for long, gets a run as all others do.
type looks struct {
	mu  sync.Mutex // runs are started side by side
	all map[uint64]*look
}

// look is what is known of a table, by policy.
type look struct {
	version    uint64 // of the policy
	statements *plan.Statements
	column     tables.Column

	examined time.Time // by a run; all times are the database's
	wakes    bool      // the next look is when a row expires, and not only whenever the ticker looks around
	tried    string    // the oldest date when the last run began
	looked   time.Time // when nothing was due for the last time
	due      time.Time // all that had expired before it was gone at that look
	written  time.Time // the look that the catalog knows of

	goal  time.Duration // TTL_MAX_LAG, by which reports judge
	next  time.Time     // when to look again
	pause time.Duration // until then, unless a row expires sooner
	runs  bool          // a job was open when the schedule was read
	group int           // at most so many tables are looked at with one statement
}

const (
	// mostLooks bounds the tables of one statement.
	mostLooks = 512
	// leastPause and mostPause are between two looks at a table in which nothing happens.
	leastPause, mostPause = 500 * time.Millisecond, 4 * time.Second
	// soonest is the time between two looks at a table whose oldest row is about to expire.
	soonest = 50 * time.Millisecond
	// examineEvery is how often a table gets a run although nothing is due.
	examineEvery = 12 * time.Hour
	// The catalog is told that nothing was due as often as leaves so many rows a second to write, and
	// between these times.
	rowsTold               = 33
	leastTold, mostBetween = 2 * time.Second, catalog.LooksTold
)

func newLooks() *looks { return &looks{all: map[uint64]*look{}} }

// learn remembers what a run has found out about a table, if looks can serve it.
func (l *looks) learn(p catalog.Policy, f *tables.Facts, now time.Time, prospects []prospect) {
	l.mu.Lock()
	defer l.mu.Unlock()

	tried := ""
	if before := l.all[p.ID]; before != nil {
		tried = before.tried
	}
	delete(l.all, p.ID)
	c, _ := f.Column(p.Rule.Column)
	if !isPrompt(p) || len(f.Partitions) > 0 || len(prospects) != 1 || c.Kind == tables.Date {
		return
	}
	if s := prospects[0].statements; s.TimeIndex != "" {
		k := &look{version: p.Version, statements: s, column: c, examined: now, pause: leastPause, group: mostLooks}
		k.tried, k.goal = tried, p.Terms.Timing.MaxLag
		l.all[p.ID] = k
	}
}

// isPrompt reports whether rows should go within seconds under a policy that has nothing to wait for.
func isPrompt(p catalog.Policy) bool {
	t := p.Terms.Timing
	return t.Prompt() && !p.Approval.Required &&
		p.Rule.Options[ddl.OptionForeignKeys] == ""
}

// known is the look at a policy's table; nil if it needs a run.
func (l *looks) known(p catalog.Policy, now time.Time) *look {
	k := l.all[p.ID]
	if k == nil || k.version != p.Version || !isPrompt(p) {
		return nil
	}
	if spread := time.Duration(p.ID%60) * time.Minute; now.Sub(k.examined) > examineEvery+spread {
		return nil
	}
	return k
}

// serve reports whether a policy's table is looked at.
func (l *looks) serve(policy uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[policy] != nil
}

// any reports whether there are tables to look at.
func (l *looks) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all) > 0
}

// forget makes every table get a run: settings have changed, by which looks are made.
func (l *looks) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.all)
}

// sift takes those out of the runs that are due which a look decides about, and adds those that a look
// finds due. It says when the next look is; zero for none.
func (t *ticker) sift(ctx context.Context, v view, due []duePolicy, open map[uint64]bool) (
	found []duePolicy, next time.Time,
) {
	l := t.engine.looks
	l.mu.Lock()
	defer l.mu.Unlock()

	maps.DeleteFunc(l.all, func(id uint64, _ *look) bool { return l.known(v.schedule[id].Policy, v.now) == nil })
	found = slices.DeleteFunc(due, func(d duePolicy) bool {
		return d.trigger == catalog.TriggerSchedule && l.all[d.policy.ID] != nil
	})

	var asked []duePolicy
	for id, k := range l.all {
		if open[id] {
			k.runs = true
			continue
		}
		if k.runs && t.ended(ctx, v, id) != nil {
			continue
		}
		k.runs = false

		d, may := startable(v.now, v.schedule[id], *t.limits())
		if !may || d.trigger == catalog.TriggerManual || t.rests(d) {
			continue
		}

		d.since = k.at(d)
		if d.since.After(v.now) {
			if k.wakes || !d.since.Equal(k.next) {
				next = sooner(next, d.since)
			}
			continue
		}
		asked = append(asked, d)
	}

	seen := t.look(ctx, v.now, asked)
	for _, d := range asked {
		if k := l.all[d.policy.ID]; k.wakes && k.next.After(v.now) {
			next = sooner(next, k.next)
		}
	}

	return append(found, seen...), next
}

// ended reads again what became of a policy's job, which the schedule does not know yet.
func (t *ticker) ended(ctx context.Context, v view, policy uint64) error {
	ran, err := t.store.SchedulesOf(ctx, policy)
	if err == nil {
		s := v.schedule[policy]
		s.ran = ran
		v.schedule[policy] = s
	}
	return err
}

// startable is the next run of a policy as it would be if it were due, and false if none may start.
func startable(now time.Time, s scheduled, l limits) (duePolicy, bool) {
	if !s.Armed() || s.Paused.InForce(now) || s.Terms.Timing.Closed(now, l.Window) != "" {
		return duePolicy{}, false
	}
	next := s.Terms.Timing.Next(s.Policy, s.ran)
	return duePolicy{policy: s.Policy, trigger: next.Trigger, by: next.By, since: next.At, ran: s.ran}, true
}

// at is when to look: twice in an interval while runs find something.
func (k *look) at(d duePolicy) time.Time {
	last := latest(d.ran)
	switch {
	case !last.LastStartedAt.After(k.looked) && !k.looked.IsZero():
		return k.next
	case last.LastState == catalog.JobFinished:
		return last.LastStartedAt.Add(d.policy.Terms.Timing.Interval / 2)
	default:
		return d.since
	}
}

// latest is the schedule of the part of a table that ran last.
func latest(ran []catalog.Schedule) (last catalog.Schedule) {
	for _, s := range ran {
		if s.LastStartedAt.After(last.LastStartedAt) {
			last = s
		}
	}
	return last
}

func sooner(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// look looks at tables, and returns those in which something is due, or that cannot be looked at. A
// statement that fails, perhaps for one table of many, is the last one for now: the next ones are
// for fewer.
func (t *ticker) look(ctx context.Context, now time.Time, asked []duePolicy) (due []duePolicy) {
	if len(asked) == 0 {
		return nil
	}
	if err := t.session.Ready(ctx); err != nil {
		return nil
	}

	all := t.engine.looks.all
	size := func(d duePolicy) int { return all[d.policy.ID].group }
	slices.SortFunc(asked, func(a, b duePolicy) int {
		return cmp.Or(cmp.Compare(size(b), size(a)), a.since.Compare(b.since))
	})

	for len(asked) > 0 {
		most := size(asked[0])
		n := 1
		for n < min(most, len(asked)) && size(asked[n]) == most {
			n++
		}

		some := asked[:n]
		asked = asked[n:]
		found, err := t.lookAt(ctx, now, some)
		if err == nil {
			due = append(due, found...)
			continue
		}

		t.log.LogAttrs(ctx, slog.LevelDebug, "tables cannot be looked at together",
			slog.Int("tables", len(some)), slog.Any("err", err))
		for _, d := range some {
			all[d.policy.ID].group = max(len(some)/16, 1)
			if len(some) == 1 {
				all[d.policy.ID].examined = time.Time{} // a run finds out why
				due = append(due, d)
			}
		}
		break
	}

	return due
}

// lookAt looks at tables with one statement.
func (t *ticker) lookAt(ctx context.Context, now time.Time, some []duePolicy) (due []duePolicy, err error) {
	ctx, cancel := context.WithTimeout(ctx, startFor)
	defer cancel()

	all := t.engine.looks.all
	statements := map[uint64]*plan.Statements{}
	for _, d := range some {
		statements[d.policy.ID] = all[d.policy.ID].statements
	}

	oldest, err := plan.Oldest(ctx, t.session, statements)
	if err != nil {
		return nil, err
	}

	for _, d := range some {
		k := all[d.policy.ID]
		cutoff, err := plan.CutoffOf(d.policy.Terms, k.column, now)
		if err != nil {
			return nil, err
		}

		expiry := cutoff.ExpiryOf(oldest[d.policy.ID])
		if k.group = mostLooks; !expiry.IsZero() && cutoff.Passed(oldest[d.policy.ID]) {
			whole := latest(d.ran).LastStartedAt.Add(d.policy.Terms.Timing.Interval)
			if oldest[d.policy.ID] == k.tried && whole.After(now) {
				k.next, k.wakes = whole, true // the last run had to leave it
				continue
			}
			k.pause, k.tried, d.looked = leastPause, oldest[d.policy.ID], k.looked
			due = append(due, d)
			continue
		}

		k.looked, k.due = now, cutoff.DueAt()
		k.next, k.wakes = now.Add(k.pause).Truncate(k.pause), false // together with others
		if !expiry.IsZero() && expiry.Before(k.next) {
			k.next, k.wakes = later(expiry.Add(time.Millisecond), now.Add(soonest)), true
		}
		k.pause = min(2*k.pause, mostPause)
	}

	return due, nil
}

// tellEvery is how often the catalog is told about so many tables.
func tellEvery(tables int) time.Duration {
	return min(max(leastTold, time.Duration(tables)*time.Second/rowsTold), mostBetween)
}

// within is how often the catalog is told about a table, if it is told about most so often.
func (k *look) within(every time.Duration) time.Duration {
	if k.goal > 0 {
		return min(every, k.goal/4)
	}
	return every
}

// tellLooks writes down now and then when nothing was due, for reports, and for whoever leads next.
func (t *ticker) tellLooks(ctx context.Context, now time.Time) {
	l := t.engine.looks
	l.mu.Lock()
	defer l.mu.Unlock()

	var told []*look
	var policies []uint64
	var at, due time.Time
	every := tellEvery(len(l.all))
	for id, k := range l.all {
		if !k.looked.After(k.written) || now.Sub(k.looked) > 2*mostPause || now.Sub(k.written) < k.within(every) {
			continue
		}
		told, policies = append(told, k), append(policies, id)
		at, due = sooner(at, k.looked), sooner(due, k.due)
	}

	if len(told) == 0 {
		return
	}
	if err := t.store.Looked(ctx, at, due, policies); err != nil {
		return // the next tick tries again
	}
	for _, k := range told {
		k.written = k.looked
	}
}
