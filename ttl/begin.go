package ttl

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/panics"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// mostStarters bounds how many jobs are started side by side. Each takes a connection to the
// server, and one of the catalog's, which clients' statements share.
const mostStarters = 4

// starterStore is what starters ask of the catalog, and tell it.
type starterStore interface {
	work.AlongStore
	plan.WholeSource
	Reserved(t catalog.Table) error
	Familiar(ctx context.Context, policies []catalog.Policy) (map[uint64]tables.Incarnation, error)
	PolicyByID(ctx context.Context, id uint64) (catalog.Policy, error)
	Disarm(ctx context.Context, actor string, policy, version uint64, reason string) error

	UseExpiryQueue(
		ctx context.Context, policy uint64, partition, shape string, shards int,
	) (catalog.ExpiryQueue, error)
	Name(table string) string
	BeginCensus(ctx context.Context, queue, job uint64) error

	Runs(ctx context.Context, policy uint64) ([]catalog.Run, error)
	CreateRun(ctx context.Context, r catalog.NewRun) (created []catalog.Job, err error)
	FinishJob(ctx context.Context, id, fence uint64, end catalog.JobState, reason string) error
	ForgetPartitions(ctx context.Context, policy uint64, names []string) error
	Withdraw(ctx context.Context, policy uint64) error
}

// starter starts jobs, one after another, with a session of its own.
type starter struct {
	store   starterStore
	log     *slog.Logger
	metrics *Metrics
	tables  *work.Recognizer
	queue   *pace.Queue

	node     func() uint64 // the id of this one
	actor    func() string // how it signs
	limits   func() *limits
	wakeCrew func()
	looks    *looks

	session *work.Session
	server  serverState
}

// serverState is why nothing may be deleted on a server, as of a tick.
type serverState struct {
	asked      bool
	connection uint64
	pause      string // why; empty for no reason
}

func (e *Engine) newStarter() *starter {
	return &starter{
		store: e.store, log: e.log, metrics: e.metrics, tables: e.tables, queue: e.queue,
		node: e.node.Load, actor: e.actor, limits: e.limits.Load, wakeCrew: e.crew.Wake, looks: e.looks,
		session: e.sessions.Session(),
	}
}

// begin starts jobs, in their order and side by side, as long as a tick has time for it: at least one,
// however slow everything is. The rest are due at the next tick.
func (t *ticker) begin(ctx context.Context, now time.Time, due []duePolicy) {
	rushes := t.engine.rush.begins(due)
	if len(due) == 0 {
		return
	}

	queue := make(chan []duePolicy, len(due))
	for some := range slices.Chunk(due, glancesAtOnce(len(due))) {
		queue <- some
	}

	close(queue)

	began := time.Now()
	var tried atomic.Int64
	var mu sync.Mutex // of setbacks
	starting := panics.New()
	for _, s := range t.startersFor(len(due)) {
		s.server.asked = false
		starting.Go(func() error {
			for some := range queue {
				s.glanceAt(ctx, now, some)
				for _, d := range some {
					if rest := s.tryStart(ctx, now, d); rest > 0 {
						mu.Lock()
						t.setbacks[d.policy.ID] = setback{now, time.Now().Add(rest)}
						mu.Unlock()
					}
					tried.Add(1)
					if t.startsOver(ctx, began) {
						return nil
					}
				}
			}
			return nil
		})
	}

	_ = starting.Wait() // each reports its own
	if rushes {
		t.engine.rush.ends(len(due)-int(tried.Load()), t.wakeCrew)
	}

	t.known.forget() // they have run now
	t.engine.wakeTicker()
}

// mostGlances bounds how many tables are examined with the same statements: what was seen should
// still be fresh when the last of them starts.
const mostGlances = 16

// glancesAtOnce is how many tables a starter examines before it starts their jobs: one, unless there
// are many.
func glancesAtOnce(jobs int) int { return max(min(jobs/manyDue, mostGlances), 1) }

// glanceAt examines tables whose jobs are started next. What goes wrong here goes wrong again, and is
// then reported, when each is started.
func (t *starter) glanceAt(ctx context.Context, now time.Time, some []duePolicy) {
	if err := t.session.Ready(ctx); err != nil {
		return
	}

	policies := make([]catalog.Policy, len(some))
	var old []*duePolicy // a table that is new may be altered in the same second: it is read later
	var targets []tables.Target
	for i := range some {
		d := &some[i]
		policies[i], d.connection = d.policy, t.session.ID()
		if now.Sub(d.policy.ChangedAt) >= work.LayoutAge {
			old = append(old, d)
			targets = append(targets, tables.Target{Schema: d.policy.Table.Schema, Table: d.policy.Table.Name})
		}
	}
	for i, f := range tables.ReadFactsOf(ctx, t.session, targets) {
		old[i].before = f
	}

	if len(some) == 1 {
		return // Recognize asks no more
	}

	known, err := t.store.Familiar(ctx, policies)
	if err != nil {
		return
	}

	for i := range some {
		some[i].known = known[some[i].policy.ID]
	}
}

// startersFor are as many starters as that many jobs are worth.
func (t *ticker) startersFor(jobs int) []*starter {
	for len(t.more) < min(jobs, mostStarters)-1 {
		t.more = append(t.more, t.engine.newStarter())
	}
	return append([]*starter{t.starter}, t.more[:min(jobs, mostStarters)-1]...)
}

// startsOver reports that a tick has started jobs for long enough, which is sooner if this process
// has news, and at once if somebody waits for a run.
func (t *ticker) startsOver(ctx context.Context, began time.Time) bool {
	took := time.Since(began)
	return ctx.Err() != nil || took > startFor || took > yieldAfter && len(t.news) > 0 || len(t.engine.awaited) > 0
}

// errAllHeld says that each partition in which something may be due is held, and waits for a person.
var errAllHeld = errors.New("all partitions are held")

// mostRest is how long a table is left alone of which everything that may be due is held.
const mostRest = 5 * time.Minute

// tryStart starts a job, or says why it could not. It returns for how long the table should be left
// alone.
func (t *starter) tryStart(ctx context.Context, now time.Time, d duePolicy) (rest time.Duration) {
	err := t.start(ctx, now, d)
	switch {
	case err == nil || catalog.Overtaken(err) || ctx.Err() != nil:
		return 0
	case errors.Is(err, errAllHeld):
		return min(max(d.policy.Terms.Timing.Interval, retryStart), mostRest)
	default:
		t.log.LogAttrs(ctx, slog.LevelWarn, "job could not be started",
			slog.String("schema", d.policy.Table.Schema), slog.String("table", d.policy.Table.Name),
			slog.Any("err", err))
		return retryStart
	}
}
