package ttl

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/panics"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/signal"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

const (
	// lookEvery is how often the leader measures while there is work: together with followEvery it
	// bounds how late a node notices a load.
	lookEvery = 500 * time.Millisecond
	// glanceEvery is how often it looks whether an application is at work, which has to be left room at once, and
	// besideEvery how often it does so once that has been done.
	glanceEvery = 20 * time.Millisecond
	besideEvery = 50 * time.Millisecond
	// glanceRests is for how many times as long as a glance takes there is none: of thousands of connections it is no
	// longer cheap.
	glanceRests = 20
	// glanceForgets is how slowly what a glance takes grows by those that took longer: by an eighth each.
	glanceForgets = 8
	// followEvery is how often the others ask the leader's result.
	followEvery = 250 * time.Millisecond
	// restEvery is how often the leader looks what is usual while there is no work.
	restEvery = 10 * time.Second
	// gently is the share at which so little is deleted that the server is as it would be without us, unless that
	// is more than gentleSessions' time of all nodes.
	gently         = 0.05
	gentleSessions = 0.2
	// settles is how long after work has ended something may still be seen of it: of clients that others tell of.
	settles = 3 * time.Second
	// gentleLooks are as many as it takes until nothing is seen any more of a higher share.
	gentleLooks = 2
	// firstLooks without us say what is usual. Until then deletion goes gently.
	firstLooks = 3
	// sayEvery is how often the readings are recorded if nothing has changed.
	sayEvery = 2 * time.Second
	// sayChange is the part by which the share has to change for it to be recorded at once.
	sayChange = 0.01
)

// throttleStore is what a throttler asks of the catalog, and tells it.
type throttleStore interface {
	Share(ctx context.Context) (catalog.Throttle, error)
	SetThrottle(ctx context.Context, t catalog.Throttle) error
	SetSuffered(ctx context.Context, node uint64, now catalog.Suffered) error
}

// application tells whether somebody else is at work on the server.
type application interface {
	Look(ctx context.Context, server signal.Querier, thorough bool) (atWork bool)
	AtWork() bool
	Reading() signal.Reading
}

// throttler sets the share of its full speed at which this node deletes. The node that leads
// measures and decides for all; the others ask it:
//
//	signals ──► pressure ──► share ──► catalog ──► each node's duty
//	signal.Watch        pace.Control               pace.Duty
//
// Where nobody has decided for some seconds, as after the death of the leader, whoever notices
// first does, and the others follow. A node that cannot ask goes down to the floor.
type throttler struct {
	store   throttleStore
	log     *slog.Logger
	metrics *Metrics
	duty    *pace.Duty
	busy    func() bool     // some job in the cluster has work, or something else has that goes by signals
	begins  <-chan struct{} // tells that one has, where none had
	leads   func() bool
	node    func() uint64
	limits  func() *limits
	suffers func() catalog.Suffered // this node's clients; nil for nothing

	server  signal.Querier
	eyes    signal.Querier // the same, for looks whether others are at work, which must not wait for signals
	watch   *signal.Watch  // what decides for all nodes
	control *pace.Control
	others  application
	probe   *signal.Probe
	glanced time.Duration // how long glances take
	left    bool          // it was at work when room was left for it last
	beside  pace.Beside
	share   float64        // what signals leave
	by      signal.Reading // the one that decides
	decided bool           // both are known, and of now
	checks  *signal.Watch  // what holds this one back; nil for nothing
	own     *pace.Control
	leaves  catalog.Own // what they leave this node
	tally   signal.Tally
	batches *signal.Batches // of this node

	said   catalog.Throttle
	saidAt time.Time
	look   time.Time // the last one
	worked time.Time // when there was work last
	idle   bool      // there was none for a while when it was looked last
	obeyed time.Time // when the workers were told their share last
	gentle int       // successive looks with work, since all shares together were no more than gently
	rested int       // looks at a server without us, at most firstLooks
	led    time.Time // since when this node has led; zero if it has never followed another one

	told      bool      // that there was work then
	published time.Time // when it was looked last what this node's clients have suffered
	teller    catalog.Teller
}

// throttles keeps the node's speed until ctx ends.
func (e *Engine) throttles(ctx context.Context) error {
	connector, err := catalog.Connector(signal.Bounded(e.cfg.Backend), signal.EndQuestions)
	if err != nil {
		return err
	}

	replicas := signal.NewReplicas(signal.ReplicaConfig{
		Connect: e.cfg.Replica, Beat: e.store.Heartbeat, Row: e.store.Name("heartbeat"),
	})
	defer replicas.Close()

	probe := signal.NewProbe(e.store.Probe)
	all := append(signal.All(), probe, signal.NewClients(e.suffered), replicas)
	db, eyes := openFor(connector, len(all)+len(e.checks)), openFor(connector, 1)
	defer db.Close()
	defer eyes.Close()

	t := &throttler{
		store: e.store, log: e.log, metrics: e.metrics, duty: e.duty,
		busy: e.busy, begins: e.queue.Begins(),
		leads: e.leading.Load, node: e.node.Load,
		limits: e.limits.Load, suffers: e.cfg.Suffered,
		server: db, eyes: eyes, watch: signal.NewWatch(all...), control: pace.NewControl(0),
		others: &signal.Application{}, probe: probe, batches: &signal.Batches{Sent: e.metrics.work.Batches},
	}
	if len(e.checks) > 0 {
		t.checks, t.own = signal.NewWatch(e.checks...), pace.NewControl(0)
	}

	t.run(ctx)
	return nil
}

// openFor opens a server for so many who ask it. Each has a connection if he needs one: nobody waits for others that
// hang. As many are kept as are needed as long as none does.
func openFor(connector driver.Connector, asking int) *sql.DB {
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(asking)
	db.SetMaxIdleConns(min(asking, signal.AtATime+1)) // opening one takes as long as ten statements
	db.SetConnMaxIdleTime(3 * restEvery)
	db.SetConnMaxLifetime(catalog.SessionAge)
	return db
}

// run looks as often as there is reason to.
func (t *throttler) run(ctx context.Context) {
	t.set(ctx, t.gently(), learning)
	defer t.duty.Set(1, "")

	for ctx.Err() == nil {
		every := lookEvery
		t.publish(ctx)
		t.timeBatches()
		switch leads := t.leads(); {
		case !t.busy():
			t.rest(ctx, leads)
		case leads || !t.follow(ctx):
			next := time.Now().Add(every)
			t.lead(ctx)
			waiting, end := context.WithDeadline(ctx, next)
			t.glance(ctx, waiting)
			end()
			continue
		default:
			every = followEvery
		}
		t.pause(ctx, every)
	}
}

// pause waits until the next look, or until there is work.
func (t *throttler) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-t.begins:
	}
}

// glance looks until its end whether an application comes, and makes way for it, or goes on when it has gone.
func (t *throttler) glance(ctx context.Context, until context.Context) {
	if t.limits().settings.Int(setting.ThrottleApplication) == 0 {
		<-until.Done()
		return
	}
	for {
		every := glanceEvery
		if t.left {
			every = besideEvery
		}
		work.Wait(until, max(every, glanceRests*t.glanced))
		if until.Err() != nil {
			return
		}
		began := time.Now()
		atWork := t.others.Look(ctx, t.eyes, false)
		// One that had to wait for a processor is no more work than others, and comes when there is most to see.
		t.glanced = min(time.Since(began), t.glanced+max(t.glanced, time.Millisecond)/glanceForgets)
		if atWork != t.left {
			t.conclude(ctx, 0)
		}
	}
}

// timeBatches looks how long this node's batches take, and counts the time in which that made them smaller.
func (t *throttler) timeBatches() {
	over := t.batches.Look(t.limits().Target)
	t.tally.Add(t.batches.Reading(), min(over, 2*lookEvery))
}

// publish records what this node's clients have suffered, before somebody looks.
func (t *throttler) publish(ctx context.Context) {
	every, busy := lookEvery, t.busy()
	if !busy && !t.told && (!t.leads() || t.rested >= firstLooks) {
		every = restEvery
	}
	if t.suffers == nil || time.Since(t.published) < every || !t.asksClients() {
		return
	}

	t.published, t.told = time.Now(), busy // once more at the end, so that nothing of it is told at rest
	if now := t.suffers(); t.teller.News(now) {
		t.teller.Tell(ctx, now, func(ctx context.Context, now catalog.Suffered) error {
			return t.store.SetSuffered(ctx, t.node(), now)
		}, t.log)
	}
}

// rest learns what is usual while nothing is deleted.
func (t *throttler) rest(ctx context.Context, leads bool) {
	every := restEvery
	if leads && (t.rested < firstLooks || !t.idle) {
		every = lookEvery
	}
	t.decided, t.leaves, t.gentle = false, catalog.Own{}, 0
	t.duty.Rest(true)
	if !leads {
		t.anew()
	}
	if (leads || t.checks != nil) && t.node() != 0 && time.Since(t.look) >= every {
		t.look = time.Now()
		if leads {
			t.measure(ctx, true)
		}
		t.idle = leads && time.Since(t.worked) > settles
		t.askChecks(ctx)
		t.say(ctx, catalog.Throttle{}, leads) // whoever sets a threshold wants to see what it is compared with
	}
	if !leads && t.checks == nil {
		t.show(nil)
	}
	if !leads || t.rested >= firstLooks || !t.learns() { // whoever follows has nothing to learn
		t.set(ctx, t.unseen(), "")
	}
}

// unseen is the share with which work begins, until it has been looked whether others are at work.
func (t *throttler) unseen() float64 {
	percent := t.limits().settings.Int(setting.ThrottleApplication)
	if percent == 0 {
		return 1
	}
	return t.room(float64(percent) / 100)
}

// room is the share that comes to so many sessions' time of all nodes, or to the floor, which all of them have together
// unless somebody has set it.
func (t *throttler) room(sessions float64) float64 {
	l, floor := t.limits(), t.floor()
	if !l.floorSet {
		floor /= float64(max(l.Nodes, 1))
	}
	return max(t.shareOf(sessions), floor)
}

// shareOf is the share that comes to so many sessions' time of all nodes. How many workers other nodes have is not
// known: it is no more than there may be.
func (t *throttler) shareOf(sessions float64) float64 {
	if l := t.limits(); l.Nodes > 1 {
		return min(sessions/float64(l.Nodes*max(l.workers, 1)), 1)
	}
	return t.duty.ShareOf(sessions)
}

// gently is the share at which so little is deleted that the server is as it would be without us.
func (t *throttler) gently() float64 { return min(gently, t.shareOf(gentleSessions)) }

// isGentle reports that all tables together have no more than that while each has a share, or one of its own. Nobody
// can do with less than the floor: what is usual would never be learnt again.
func (t *throttler) isGentle(share float64) bool {
	return t.duty.InForce(share) <= max(t.gently(), min(t.floor(), gently))
}

// learns reports whether there is a signal that has to know what is usual.
func (t *throttler) learns() bool {
	s := t.limits().settings
	return s.Int(setting.ThrottleProbe) > 0 || t.asksClients()
}

// asksClients reports whether there is a signal that is about what clients of the proxies suffer.
func (t *throttler) asksClients() bool {
	s := t.limits().settings
	return s.Int(setting.ThrottleLatency) > 0 || s.Int(setting.ThrottleLockErrors) > 0
}

// suffered is what the clients of all nodes have suffered.
func (e *Engine) suffered(ctx context.Context) (map[uint64]signal.Suffered, error) {
	nodes, err := e.store.Suffered(ctx)
	all := map[uint64]signal.Suffered{}
	for node, s := range nodes {
		all[node] = signal.Suffered{Took: s.Latencies, LockErrors: s.LockErrors}
	}
	return all, err
}

// lead measures, decides, and says so. What is usual is learnt at the lowest share, too: otherwise
// an application that has grown since the last rest would keep deletion there for good.
func (t *throttler) lead(ctx context.Context) {
	since := time.Since(t.look)
	t.idle, t.worked = false, time.Now()
	t.share, t.by = t.measure(ctx, false)
	t.decided = true
	t.gentle++
	t.conclude(ctx, since)
}

// conclude makes this node and all others go by what was measured, and counts that for so long.
func (t *throttler) conclude(ctx context.Context, since time.Duration) {
	share, by := t.leaveRoom(t.share, t.by, since > 0)
	why := t.count(share, by, since)
	if least := t.gently(); t.learns() && t.rested < firstLooks && share > least && t.isGentle(least) {
		share, why = least, learning
	}
	if !t.isGentle(share) {
		t.gentle = 0
	}

	if share < t.duty.Share() {
		t.set(ctx, share, why) // telling the others may take as long as any commit
	}
	t.say(ctx, catalog.Throttle{Decides: true, Share: share, HeldBy: why}, true)
	t.obey(ctx, share, why)
}

// leaveRoom bounds a share while an application is at work. The share that signals leave goes on growing behind it,
// so that full speed is there as soon as the application is not.
func (t *throttler) leaveRoom(share float64, by signal.Reading, measured bool) (float64, signal.Reading) {
	percent := t.limits().settings.Int(setting.ThrottleApplication)
	now := time.Now()
	if t.left = t.others.AtWork(); percent == 0 || !t.left {
		t.beside.Away()
		t.control.Bound(now, 1)
		return share, by
	}

	var slow, made int64
	if measured {
		slow, made = t.probe.Slow()
	}
	sessions := t.beside.Step(now, float64(percent)/100, by.Pressure(), made, slow)
	most := t.room(sessions)
	t.control.Bound(now, most)
	if most < share {
		return most, t.others.Reading()
	}
	return share, by
}

// learning is why deletion goes gently at first.
const learning = "what is usual on this server is being measured"

// count says what keeps a share below 1, and counts the time for which it did.
func (t *throttler) count(share float64, by signal.Reading, since time.Duration) (why string) {
	if share >= 1 {
		return ""
	}
	if by.Pressure() >= 1 || by.Bounds || by.State == signal.Unknown {
		t.tally.Add(by, min(since, 2*lookEvery))
	}
	return by.String()
}

// obey makes the workers go by the share of all nodes, or by what this one is held back to.
func (t *throttler) obey(ctx context.Context, share float64, why string) {
	since := time.Since(t.obeyed)
	t.leaves, t.obeyed = catalog.Own{}, time.Now()
	if t.askChecks(ctx) {
		t.own.SetFloor(t.floor())
		if own, by := decide(t.own, t.checks); own < 1 {
			t.leaves = catalog.Own{Share: own, HeldBy: by.String()}
			if own < share {
				share, why = own, t.count(own, by, min(since, lookEvery))
			}
		}
	}
	t.set(ctx, share, why)
	t.duty.Rest(false)
}

// askChecks asks what holds this node back; false if nothing does.
func (t *throttler) askChecks(ctx context.Context) bool {
	if t.checks == nil {
		return false
	}
	t.checks.Ask(ctx, signal.Look{Server: t.server, Settings: t.limits().settings})
	return true
}

// measure asks the signals and returns the share that follows, with the reading that decides.
func (t *throttler) measure(ctx context.Context, idle bool) (share float64, by signal.Reading) {
	t.control.SetFloor(t.floor())
	atWork := t.others.Look(ctx, t.eyes, true)
	if t.decided && atWork != t.left {
		t.conclude(ctx, 0)
	}
	resting := t.idle && idle || t.gentle >= gentleLooks
	if resting {
		t.rested = min(t.rested+1, firstLooks)
	}
	look := signal.Look{
		Server: t.server, Settings: t.limits().settings, Resting: resting, Idle: idle, Alone: !atWork, Led: t.led,
	}
	if t.decided {
		t.askGlancing(ctx, look)
	} else {
		t.watch.Ask(ctx, look)
	}
	t.look = time.Now()
	return decide(t.control, t.watch)
}

// askGlancing asks the signals. An application that comes while they take their time is not kept waiting.
func (t *throttler) askGlancing(ctx context.Context, look signal.Look) {
	asking, asked := context.WithCancel(ctx)
	all := panics.New()
	all.Go(func() error {
		defer asked()
		t.watch.Ask(ctx, look)
		return nil
	})
	t.glance(ctx, asking)
	_ = all.Wait()
}

// decide returns the share that follows from what signals say, with the reading that decides.
func decide(c *pace.Control, w *signal.Watch) (share float64, by signal.Reading) {
	by, _ = signal.Strictest(w.Readings())
	if by.State == signal.Unknown && !by.Hold {
		return c.Doubt(time.Now()), by
	}
	return c.Step(time.Now(), by.Pressure()), by
}

// set makes the workers follow. Without a reason they are not held back: a share that there is then is one of nothing.
func (t *throttler) set(ctx context.Context, share float64, why string) {
	before := t.duty.Reason()
	t.duty.Set(share, why)
	if why == "" {
		share = 1
	}
	t.metrics.share.Set(share)
	if now := t.duty.Reason(); (now == "") != (before == "") {
		t.log.LogAttrs(ctx, slog.LevelDebug, "the speed of deletion changes", slog.Float64("share", share),
			slog.String("reason", why))
	}
}

// say records what was measured, for the other nodes and for people: by this node's own signals, and by those for
// all nodes if it has asked them.
func (t *throttler) say(ctx context.Context, now catalog.Throttle, ofAll bool) {
	now.Node, now.Own = t.node(), t.leaves
	changed := now.Decides != t.said.Decides || (now.HeldBy == "") != (t.said.HeldBy == "") ||
		math.Abs(now.Share-t.said.Share) > sayChange*t.said.Share ||
		now.Own.Bounds() != t.said.Own.Bounds() ||
		math.Abs(now.Own.Share-t.said.Own.Share) > sayChange*t.said.Own.Share
	if !changed && now.Node == t.said.Node && time.Since(t.saidAt) < sayEvery {
		return
	}

	now.Signals = t.signals(ofAll)
	if err := t.store.SetThrottle(ctx, now); err != nil {
		if ctx.Err() == nil {
			t.log.LogAttrs(ctx, slog.LevelWarn, "signals could not be recorded", slog.Any("err", err))
		}
		return
	}
	t.said, t.saidAt = now, time.Now()
}

// signals are the readings as the catalog keeps them, and as metrics show them.
func (t *throttler) signals(ofAll bool) []catalog.Signal {
	readings := []signal.Reading{t.batches.Reading()}
	if ofAll {
		readings = append(readings, t.watch.Readings()...)
		if t.limits().settings.Int(setting.ThrottleApplication) > 0 {
			readings = slices.Insert(readings, 0, t.others.Reading())
		}
	}
	if t.checks != nil {
		readings = append(readings, t.checks.Readings()...)
	}

	var all []catalog.Signal
	for _, r := range readings {
		all = append(all, catalog.Signal{
			Name: r.Signal, Source: r.Source, State: string(r.State), Value: r.Value, Threshold: r.Threshold,
			Unit: r.Unit, Detail: r.Detail, Held: t.tally.Share(r), Age: time.Since(r.At).Seconds(),
		})
	}

	t.show(readings)
	return all
}

// sourcesWithMetrics bounds the sources of a signal that have metrics: members of a group may be many.
const sourcesWithMetrics = 20

// show makes the metrics those of what is said now, and of nothing else.
func (t *throttler) show(now []signal.Reading) {
	var shown []work.Shown
	for _, r := range signal.Worst(now, sourcesWithMetrics) {
		shown = append(shown, work.Shown{
			Signal: r.Signal, Source: r.SourceText(), Known: r.State == signal.Measured || r.Bounds,
			Value: r.Value, Threshold: r.Threshold, At: r.At, Held: t.tally.Share(r),
		})
	}
	t.metrics.work.Signals(shown)
}

// follow takes over what another node has decided; false if none has.
func (t *throttler) follow(ctx context.Context) bool {
	t.idle, t.decided, t.worked = false, false, time.Now()
	now, err := t.store.Share(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		t.control.Adopt(t.floor())
		t.obey(ctx, t.floor(), "the speed that all nodes may have cannot be read: "+err.Error())
	case !now.InForce() || now.Node == t.node():
		return false
	default:
		t.control.Adopt(now.Share)
		t.obey(ctx, now.Share, now.HeldBy)
		t.say(ctx, catalog.Throttle{}, false)
	}
	t.gentle = 0 // who decides next has to look first
	t.anew()
	return true
}

// anew makes this node, once it leads, find out what is usual then, and how much room an application needs: what it
// knows is of another time.
func (t *throttler) anew() { t.rested, t.led, t.beside = 0, time.Now(), pace.Beside{} }

// floor is the share to which signals may slow deletion down.
func (t *throttler) floor() float64 {
	return float64(t.limits().settings.Int(setting.ThrottleFloor)) / 100
}
