package ttl

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/panics"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/signal"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// Config of an Engine. Backend and Node are required.
type Config struct {
	Backend  *mysql.Config // the account that deletes; the engine sets everything but address, account and TLS itself
	Node     catalog.Node  // how this process is listed in SHOW TTL NODES
	StopFile string        // while this file exists, or may exist, nothing is deleted, whatever the catalog says
	Checks   signal.Checks // what may hold this node back, beside what all nodes go by
	Tick     time.Duration // between two looks at the catalog; a second when zero

	// Replica returns how to log in to a server that replicates from the backend; nil if no account
	// is there for that.
	Replica func(hostPort string) *mysql.Config

	// Suffered is what this node's clients have suffered since it started; nil for none.
	Suffered func() catalog.Suffered

	// Admit refuses a new connection that leads to a server the policies do not belong to, as after
	// a fail-over; nil for none.
	Admit func(context.Context, *sql.Conn) error

	beforePacket func() // hook for tests: between choosing a batch and sending it
	afterOpen    []string
	mostSkew     time.Duration // see catalog.ClockWatch
	recountEvery time.Duration // see ticker.recount
}

// Engine starts jobs when they are due and works on their tasks. Any number of engines share one
// catalog.
type Engine struct {
	cfg      Config
	store    *catalog.Store
	log      *slog.Logger
	rates    *pace.Rates
	duty     *pace.Duty
	checks   []signal.Signal
	queue    *pace.Queue
	gang     *pace.Gang
	sessions *work.Pool
	tables   *work.Recognizer
	wakes    chan struct{} // the ticker, before its time
	awaited  chan struct{} // the same, at once: somebody waits for a run
	metrics  *Metrics

	crew  *work.Crew
	rush  rush
	looks *looks

	adopting sync.Mutex // the settings: those read last are the newest
	limits   atomic.Pointer[limits]
	node     atomic.Uint64
	leading  atomic.Bool               // this node has the scheduler's lease
	asides   atomic.Bool               // dropAsides has work, for which signals are read as for jobs
	doubt    atomic.Pointer[string]    // why the server's clock is not believed
	beat     atomic.Pointer[time.Time] // last heartbeat that was answered, by the local clock
}

// New checks the configuration and prepares an engine on an open catalog.
func New(cfg Config, store *catalog.Store, log *slog.Logger, metrics *Metrics) (*Engine, error) {
	if cfg.Backend == nil || store == nil || log == nil {
		return nil, errors.New("ttl: the engine needs a backend, a catalog and a logger")
	}
	if cfg.Tick <= 0 {
		cfg.Tick = time.Second
	}
	if cfg.recountEvery <= 0 {
		cfg.recountEvery = time.Minute
	}

	checks, err := cfg.Checks.Signals()
	if err != nil {
		return nil, err
	}

	sessions, err := work.NewPool(cfg.Backend)
	if err != nil {
		return nil, err
	}
	if metrics == nil {
		metrics = NewMetrics(nil)
	}

	e := &Engine{
		cfg: cfg, store: store, log: log, metrics: metrics,
		rates: pace.NewRates(metrics.work.Waited), duty: pace.NewDuty(metrics.work.Waited),
		queue: pace.NewQueue(), gang: pace.NewGang(),
		checks: checks, wakes: make(chan struct{}, 1), awaited: make(chan struct{}, 1), looks: newLooks(),
	}
	e.limits.Store(&limits{})
	e.tables = work.NewRecognizer(store, log, e.actor)
	e.sessions = sessions
	sessions.Admit, sessions.Key, sessions.Setup = cfg.Admit, store.ServerKey(), cfg.afterOpen
	sessions.Pauses = func(ctx context.Context, q tables.Querier) (string, error) {
		return catalog.SessionPause(ctx, q, e.limits.Load().allowReplica)
	}

	e.crew = work.NewCrew(work.Config{
		Store: store, Log: log, Metrics: metrics.work, Sessions: e.sessions, Tables: e.tables,
		Queue: e.queue, Gang: e.gang, Rates: e.rates, Duty: e.duty,

		Node: e.node.Load, Actor: e.actor, Account: cfg.Backend.User,
		Limits: e.workLimits, ReadLimits: e.readLimits,
		Stopped: e.stopped, Starting: e.rush.waits,
		Finished: e.finished, Lost: func() { metrics.leaseLost(leaseTask) },

		BeforePacket: cfg.beforePacket,
	})

	return e, nil
}

// Run works until ctx ends, then gives its tasks back and returns nil. It survives an unreachable
// catalog: nothing is deleted meanwhile. A panic of any of its goroutines comes out of it, when all have ended.
func (e *Engine) Run(ctx context.Context) error {
	defer e.sessions.Close()
	for ctx.Err() == nil {
		err := e.registration(ctx)
		if ctx.Err() != nil {
			break
		}
		e.log.LogAttrs(ctx, slog.LevelWarn, "engine starts again", slog.Any("err", err))
		work.Wait(ctx, 2*time.Second)
	}
	return nil
}

// Node is the id this process has in the catalog now; 0 before it has one.
func (e *Engine) Node() uint64 { return e.node.Load() }

// registration is the life of one: it ends when ctx does, or when the catalog no longer
// knows this node.
func (e *Engine) registration(ctx context.Context) error {
	if err := e.readLimits(ctx); err != nil {
		return err
	}

	node := e.cfg.Node
	e.beaten() // the catalog has just answered
	node.Engine, node.Workers = true, e.limits.Load().workers
	node.Stop, node.Status = e.standing()

	id, err := e.store.Join(ctx, node)
	if err != nil {
		return err
	}

	e.node.Store(id)
	e.beaten()
	e.duty.Rest(true) // until somebody has looked
	defer e.leave(ctx, id)

	e.log.LogAttrs(ctx, slog.LevelInfo, "engine runs", slog.Uint64("node", id))

	g, ctx := panics.WithContext(ctx)
	g.Go(func() error { return e.beats(ctx) })
	g.Go(func() error { return e.ticks(ctx) })
	g.Go(func() error { return e.throttles(ctx) })
	g.Go(func() error { return e.crew.Run(ctx) })
	defer e.sessions.Trim(0)

	return g.Wait()
}

// leave tells the other nodes at once, so that none waits for missed beats.
func (e *Engine) leave(ctx context.Context, id uint64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	e.metrics.leads(false)
	if err := e.store.Leave(ctx, id); err != nil {
		e.log.LogAttrs(ctx, slog.LevelWarn, "node could not leave", slog.Uint64("node", id), slog.Any("err", err))
	}
}

// stopEvery is how soon it is noticed, and shown, that this node is stopped.
const stopEvery = time.Second

// beats keeps the node alive in the catalog, and records there what stops it, as soon as that
// changes.
func (e *Engine) beats(ctx context.Context) error {
	said, at := catalog.Stop(""), time.Now()
	for work.Wait(ctx, stopEvery); ctx.Err() == nil; work.Wait(ctx, stopEvery) {
		stop, status := e.standing()
		if stop == said && time.Since(at) < catalog.BeatInterval-stopEvery/2 {
			continue
		}

		e.logStop(ctx, said, stop, status)
		said, at = stop, time.Now()

		err := e.store.Beat(ctx, e.node.Load(), e.limits.Load().workers, stop, status)
		switch {
		case errors.Is(err, catalog.ErrNodeGone):
			return err
		case err == nil:
			e.beaten()
		case ctx.Err() == nil:
			e.metrics.missed.Inc()
			e.log.LogAttrs(ctx, slog.LevelWarn, "heartbeat missed", slog.Any("err", err))
		}
	}

	return nil
}

// logStop logs when this node stops deleting, and when it resumes.
func (e *Engine) logStop(ctx context.Context, before, now catalog.Stop, why string) {
	switch {
	case now != "" && before == "":
		e.log.LogAttrs(ctx, slog.LevelWarn, "this node deletes nothing", slog.String("reason", why))
	case now == "" && before != "":
		e.log.LogAttrs(ctx, slog.LevelInfo, "this node deletes again")
	}
}

func (e *Engine) beaten() {
	now := time.Now()
	e.beat.Store(&now)
}

// stopped says why this node must not send batches now; empty when it may.
func (e *Engine) stopped() string {
	_, why := e.stop()
	return why
}

// stop is the same with the word for it.
func (e *Engine) stop() (catalog.Stop, string) {
	if why := stopFile(e.cfg.StopFile); why != "" {
		return catalog.StopFile, why
	}

	l := e.limits.Load()
	if !l.enabled {
		return catalog.StopSwitch, "ttl_job_enable is OFF"
	}
	if l.unread != "" {
		return catalog.StopSetting, l.unread
	}

	if since := time.Since(*e.beat.Load()); since > 2*catalog.BeatInterval {
		// Others may have taken over the tasks; the barrier would refuse us, so why try.
		return catalog.StopSilence, fmt.Sprintf("the catalog has not answered for %s", ddl.FormatDuration(since))
	}

	return "", ""
}

// stopFile says why a stop file, if there is one by that name, keeps this node from deleting. Whoever created
// it may have been able to enter a directory that we cannot: only a file that is certainly not there stops nothing.
func stopFile(name string) (why string) {
	if name == "" {
		return ""
	}
	switch _, err := os.Stat(name); {
	case err == nil:
		return "the stop file " + name + " exists"
	case errors.Is(err, fs.ErrNotExist):
		return ""
	default:
		return "nobody can tell whether the stop file exists: " + err.Error()
	}
}

// standing is what SHOW TTL NODES says about this node: what stops it, or what slows it down.
func (e *Engine) standing() (catalog.Stop, string) {
	if stop, why := e.stop(); stop != "" {
		return stop, why
	}
	if why := e.doubt.Load(); why != nil && *why != "" {
		return catalog.StopClock, *why
	}
	return "", pace.All{e.duty, e.rates}.Reason()
}

// busy reports whether some job in the cluster has work, or the leader something to drop that partitions have become.
func (e *Engine) busy() bool {
	return e.queue.Others(0) || e.leading.Load() && e.asides.Load()
}

// finished has the ticker look after a job of which a task is done.
func (e *Engine) finished(job catalog.Job) {
	if job.AskedFor() {
		wake(e.awaited)
	}
	e.wakeTicker()
}

// wakeTicker makes the ticker look again before its time.
func (e *Engine) wakeTicker() { wake(e.wakes) }

// wake sends a signal; once is enough.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
