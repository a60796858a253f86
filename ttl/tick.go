package ttl

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

const (
	leaseFor    = 10 * time.Second
	leaseEvery  = 3 * time.Second
	limitsEvery = 30 * time.Second      // although nobody has changed them
	ratesEvery  = 3 * time.Second       // where they depend on the time of day
	startFor    = 2 * time.Second       // of a tick goes to starting jobs; running ones need looking after too
	yieldAfter  = startFor / 10         // if meanwhile somebody asks for something; at once if that is a run
	tendFor     = 50 * time.Millisecond // jobs are looked after, although somebody waits for a run
	retryStart  = 10 * time.Second      // after a job could not be started
	retryTick   = time.Second           // after something else went wrong in a tick
)

// tickerStore is what a ticker asks of the catalog, and tells it.
type tickerStore interface {
	starterStore

	work.AsideStore
	work.AheadStore
	plan.WholeSource
	Clock(ctx context.Context) (time.Time, error)
	Pulse(ctx context.Context, node uint64, lease string) (catalog.Pulse, error)
	News(ctx context.Context) (uint64, error)
	Checks() uint64
	Acquire(ctx context.Context, name string, node uint64, ttl time.Duration) (catalog.Lease, error)
	Renew(ctx context.Context, l catalog.Lease, ttl time.Duration) error

	PoliciesAgain(ctx context.Context) ([]*catalog.Policy, error)
	PastAgain(ctx context.Context) (map[uint64]*catalog.Past, error)
	SchedulesOf(ctx context.Context, policy uint64) ([]catalog.Schedule, error)
	Looked(ctx context.Context, at, due time.Time, policies []uint64) error
	Record(ctx context.Context, e catalog.Event) error
	Identities(ctx context.Context, policy uint64) (tables.Incarnation, error)

	Jobs(ctx context.Context) ([]catalog.Job, error)
	LeadJob(ctx context.Context, id, node uint64) (catalog.Job, error)
	SetJobState(ctx context.Context, id, fence uint64, next catalog.JobState, w catalog.Waits) error
	SetJobFacts(ctx context.Context, id, fence uint64, f catalog.JobFacts) error
	Recount(ctx context.Context, job catalog.Job, due uint64, reason string) error
	EnoughAhead(ctx context.Context, policy uint64) error
	Rests(ctx context.Context, policy uint64, now time.Time) (why string, err error)
	RowsNotTried(ctx context.Context, policy uint64, partition string, since time.Time) ([]string, error)
	ForgetRowErrors(ctx context.Context, policy uint64, partition string, keys []string) error

	Keep(ctx context.Context, lease catalog.Lease, ttl time.Duration, days int64) (done bool, err error)
	Sweep(ctx context.Context) (settled int, err error)
	Vouch(ctx context.Context, actor string) error
	ClearExpiryQueues(ctx context.Context) error
}

// ticker is the state of the loop that looks at the catalog once per tick.
type ticker struct {
	*starter
	store        tickerStore
	engine       *Engine
	more         []*starter    // that help when many jobs are due
	news         chan struct{} // this process has recorded a change
	heard        bool          // such news since the last tick
	leads        bool
	pulse        catalog.Pulse
	stirred      time.Time // when there was something new last, by the local clock
	lease        catalog.Lease
	leaseAt      time.Time
	tickAt       time.Time // when this tick began
	tendsAt      time.Time // when it began to look after jobs
	known        known
	newest       uint64 // news of the catalog when the settings were read
	limitsAt     time.Time
	settings     limits    // those that jobs were last looked at by
	settingsAt   time.Time // by the database's clock
	nextTick     time.Time // when there is a reason for another tick, by the local clock; zero for none
	chores       []*chore
	keeping      *chore // of them
	asides       *chore // of them
	clock        catalog.ClockWatch
	doubted      uint64               // the witness's checks when the clock leapt
	setbacks     map[uint64]setback   // of policies whose job could not be started
	reconsidered map[uint64]time.Time // when jobs were
	recounted    map[uint64]time.Time // when the rows of policies were that wait for approval
	aheads       aheadLooks
	aside        int                       // what a partition has become was seen to last, of all that is over
	counted      map[uint64]*work.Counting // of them, by table, those that are not counted to their end
	summedUp     map[uint64]bool           // jobs whose note says what they leave behind
}

func newTicker(e *Engine) *ticker {
	t := &ticker{
		starter: e.newStarter(), store: e.store, engine: e, news: make(chan struct{}, 1),
		clock:    catalog.ClockWatch{Skew: e.cfg.mostSkew},
		setbacks: map[uint64]setback{}, reconsidered: map[uint64]time.Time{},
		recounted: map[uint64]time.Time{},
		summedUp:  map[uint64]bool{}, aheads: aheadLooks{},
		counted: map[uint64]*work.Counting{},
	}
	t.assignChores()
	return t
}

// ticks looks after jobs: the leader of the cluster starts those that are due, every node those
// that somebody has asked it for, leads those it owns, and wakes its crew when there is work.
func (e *Engine) ticks(ctx context.Context) error {
	t := newTicker(e)
	defer t.closeIdle(0)
	defer e.store.Listen(catalog.Listener{All: t.news, Runs: e.awaited})()

	failing := false
	for ctx.Err() == nil {
		err := t.tick(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			e.log.LogAttrs(ctx, slog.LevelWarn, "engine cannot manage jobs", slog.Any("err", err))
		}

		if failing = err != nil; failing {
			t.tickBy(time.Now().Add(retryTick))
		}
		if t.leads && t.engine.looks.any() {
			t.session.KeepAlive(ctx)
		}
		t.closeIdle(work.IdleLimit)
		e.sessions.Trim(work.IdleLimit)
		t.await(ctx)
		t.hear()
	}

	return nil
}

// closeIdle closes the sessions that have not been used for some time.
func (t *ticker) closeIdle(idle time.Duration) {
	t.session.CloseIdle(idle)
	for _, s := range t.more {
		s.session.CloseIdle(idle)
	}
}

// leastWait keeps a ticker that is woken again and again from asking without a pause; one that had
// to read all policies rests waitShare times as long as that took, unless many jobs are still due, or
// somebody waits for a run.
const (
	leastWait = 20 * time.Millisecond
	waitShare = 3
)

const (
	// askEvery is how often the leader asks whether another process, such as one without an engine,
	// has recorded something.
	askEvery = 200 * time.Millisecond
	// askFor is how long it does that after something has been recorded: where nobody says anything,
	// the next tick will do.
	askFor = time.Minute
)

// await waits until the next tick is due, or until something has happened that is worth a look.
func (t *ticker) await(ctx context.Context) {
	share := waitShare * t.known.took
	if t.engine.rush.many() {
		share = 0
	}

	if t.rest(ctx, min(max(leastWait, share), t.engine.cfg.Tick)) {
		return
	}
	tick := t.engine.cfg.Tick
	if !t.nextTick.IsZero() {
		tick = min(tick, max(time.Until(t.nextTick), 0))
	}
	timer := time.NewTimer(tick)
	defer timer.Stop()

	ask := time.NewTicker(askEvery)
	defer ask.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-t.engine.wakes:
			return
		case <-t.engine.awaited:
			t.heard = true
			return
		case <-t.news:
			t.heard = true
			return
		case <-timer.C:
			return
		case <-ask.C:
			if t.newsElsewhere(ctx) {
				return
			}
		}
	}
}

// hear takes the signals that have come before a tick, which sees what they are about: none of them
// is left to cut it short.
func (t *ticker) hear() {
	for {
		select {
		case <-t.engine.wakes:
		case <-t.engine.awaited:
			t.heard = true
		case <-t.news:
			t.heard = true
		default:
			return
		}
	}
}

// rest pauses, unless somebody waits for a run.
func (t *ticker) rest(ctx context.Context, d time.Duration) (awaited bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-t.engine.awaited:
		t.heard = true
		return true
	}
	return false
}

// newsElsewhere reports whether something was recorded since the last tick. An error is left to the
// next one.
func (t *ticker) newsElsewhere(ctx context.Context) bool {
	if !t.leads || !t.pulse.Others || time.Since(t.stirred) > askFor {
		return false
	}
	news, err := t.store.News(ctx)
	return err == nil && news != t.newest
}

// tick reads what there is, starts what is due, and looks after what runs.
func (t *ticker) tick(ctx context.Context) error {
	t.tickAt, t.server.asked = time.Now(), false
	t.nextTick = time.Time{} // unless something may start, a look that is due is no reason for another tick

	pulse, err := t.store.Pulse(ctx, t.node(), leaseScheduler)
	if err != nil {
		return err
	}

	t.pulse = pulse
	if err := t.adopt(ctx); err != nil {
		return err
	}

	t.metrics.work.Measure(time.Now(), t.engine.rates)
	if err := t.lead(ctx, pulse.Leader); err != nil {
		return err
	}

	var jobs []catalog.Job
	if pulse.Jobs {
		if jobs, err = t.store.Jobs(ctx); err != nil {
			return err
		}
	}

	v, err := t.view(ctx, pulse, jobs)
	if err != nil {
		return err
	}

	late := v.late()
	t.queue.Set(jobs, late)
	t.engine.duty.SetFloors(v.floors(late))
	jobs = t.endAwaited(ctx, v)
	t.schedule(ctx, v, pulse.Pause)
	t.heard = false

	t.doChores(ctx)
	t.forget(jobs)

	t.tendsAt = time.Now()
	for _, job := range t.inTurn(jobs) {
		t.tend(ctx, v, job)
		if len(t.engine.awaited) > 0 && time.Since(t.tendsAt) > tendFor {
			break // the next tick goes on
		}
	}

	return nil
}

// endAwaited ends jobs that somebody waits for, and whose tasks are done, before others are started. It returns
// the other jobs.
func (t *ticker) endAwaited(ctx context.Context, v view) (others []catalog.Job) {
	for _, job := range v.jobs {
		if job.AskedFor() && job.State == catalog.JobRunning && job.TasksFinished == job.Tasks {
			t.tend(ctx, v, job)
			continue
		}
		others = append(others, job)
	}
	return others
}

// adopt reads the settings if they may have changed, and does what follows from other ones.
func (t *ticker) adopt(ctx context.Context) error {
	if t.pulse.News != t.newest {
		t.stirred = time.Now()
	}

	if t.outdated(*t.limits()) {
		if err := t.engine.readLimits(ctx); err != nil {
			return err
		}
		t.newest, t.limitsAt = t.pulse.News, time.Now()
	}

	l := t.limits()
	if l.Revision == t.settings.Revision {
		return nil
	}

	clear(t.reconsidered)
	t.engine.looks.forget()
	if l.historyDays != t.settings.historyDays {
		t.keeping.did = time.Time{}
	}
	t.settings, t.settingsAt = *l, t.pulse.Now

	return nil
}

// outdated reports whether limits may be others by now.
func (t *ticker) outdated(l limits) bool {
	every := limitsEvery
	if l.timed {
		every = ratesEvery
	}
	return t.pulse.News != t.newest || t.pulse.Settings != l.Revision || max(t.pulse.Engines, 1) != l.Nodes ||
		time.Since(t.limitsAt) > every
}

// tend manages a job, and wakes the crew if it has tasks left.
func (t *ticker) tend(ctx context.Context, v view, job catalog.Job) {
	err := t.manage(ctx, v, job)
	if errors.Is(err, catalog.ErrFence) && job.Owner == t.node() {
		t.metrics.leaseLost(leaseJob)
	}
	if err != nil && !catalog.Overtaken(err) {
		t.log.LogAttrs(ctx, slog.LevelWarn, "job cannot be managed",
			slog.Uint64("job", job.ID), slog.Any("err", err))
		t.tickBy(time.Now().Add(retryTick))
	}

	if job.State == catalog.JobRunning && job.TasksFinished < job.Tasks {
		t.wakeCrew()
	}
}

// lead takes or keeps the right to start jobs: it is taken as soon as nobody has it.
func (t *ticker) lead(ctx context.Context, leader uint64) (err error) {
	switch {
	case leader != 0 && leader != t.node():
		err = catalog.ErrLeaseHeld
	case leader == 0 || !t.leads:
		t.lease, err = t.store.Acquire(ctx, leaseScheduler, t.node(), leaseFor)
	case time.Since(t.leaseAt) < leaseEvery:
		return nil
	default:
		err = t.store.Renew(ctx, t.lease, leaseFor)
	}

	held := errors.Is(err, catalog.ErrLeaseHeld) || errors.Is(err, catalog.ErrLeaseLost)
	if t.leads && held {
		t.metrics.leaseLost(leaseScheduler)
	}

	t.leads = err == nil
	t.engine.leading.Store(t.leads)
	t.metrics.leads(t.leads)
	if err != nil && !held {
		return err
	}

	t.leaseAt = time.Now()
	return nil
}

// schedule starts what is due; a node that does not lead starts only what this process was asked
// for. It watches the clock all the same: no leap of it must come to light only through a job.
func (t *ticker) schedule(ctx context.Context, v view, pause catalog.GlobalPause) {
	if t.engine.stopped() != "" {
		return
	}
	if pause.Held {
		t.clock.Forget() // TRUST TTL SERVER covers its time, too
		return
	}
	if t.clockDoubted(ctx, v.now) || pause.InForce(v.now) {
		return
	}

	open := map[uint64]bool{}
	for _, job := range v.jobs {
		open[job.PolicyID] = true
	}

	due := slices.DeleteFunc(dueNow(v.now, v.schedule, *t.limits()), func(d duePolicy) bool {
		elsewhere := !t.leads && (!t.heard || d.trigger != catalog.TriggerManual)
		return elsewhere || open[d.policy.ID] || t.rests(d)
	})

	if t.leads {
		var next time.Time
		if due, next = t.sift(ctx, v, due, open); !next.IsZero() {
			t.tickBy(t.tickAt.Add(next.Sub(v.now)))
		}
		t.tellLooks(ctx, v.now)
	}

	t.begin(ctx, v.now, due)
}

// tickBy makes sure of a tick at a time, by the local clock, however far apart ticks are.
func (t *ticker) tickBy(at time.Time) { t.nextTick = sooner(t.nextTick, at) }

// rests reports whether it is too early to try a start again, and if so makes sure of a tick when it is not.
func (t *ticker) rests(d duePolicy) bool {
	s := t.setbacks[d.policy.ID]
	rests := s.rests(d)
	if rests {
		t.tickBy(s.until)
	}
	return rests
}

// setback is a start that has failed.
type setback struct {
	at    time.Time // by the database's clock
	until time.Time // the next try, by the local one
}

// rests reports whether it is too early for another try. What somebody has asked for since then
// does not wait.
func (s setback) rests(d duePolicy) bool {
	anew := d.trigger == catalog.TriggerManual && d.since.After(s.at)
	return !anew && time.Now().Before(s.until)
}

// clockDoubted keeps jobs from being started by a clock that cannot be right, and says so once. The
// witness looks more closely, and either holds everything or knows better: others may have seen
// that only this machine stood still.
func (t *ticker) clockDoubted(ctx context.Context, now time.Time) bool {
	leapt, why := t.clock.Look(now)
	switch {
	case leapt == 0:
		t.doubted = 0
	case t.doubted == 0:
		t.doubted = t.store.Checks() + checksAfter
	case t.store.Checks() >= t.doubted:
		t.clock.Forget()
		_, why = t.clock.Look(now)
	}

	if before := t.engine.doubt.Swap(&why); why != "" && (before == nil || *before == "") {
		t.log.LogAttrs(ctx, slog.LevelError, "no jobs are started", slog.String("reason", why))
	}

	return why != ""
}

// checksAfter is how many checks ensure that a complete one has followed.
const checksAfter = 2
