package ttl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/signal"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// board is a catalog in which nodes read and write the share.
type board struct {
	mu   sync.Mutex
	all  map[uint64]catalog.Throttle // by node
	down bool
	slow time.Duration // to take a share
}

func (b *board) Share(context.Context) (catalog.Throttle, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return catalog.Throttle{}, errors.New("no route")
	}
	var first catalog.Throttle // as the catalog has them: the one that decided last, if there is one
	for _, t := range b.all {
		if t.Decides == first.Decides && t.At.After(first.At) || t.Decides && !first.Decides {
			first = t
		}
	}
	first.Age = time.Since(first.At)
	return first, nil
}

func (b *board) SetThrottle(_ context.Context, t catalog.Throttle) error {
	time.Sleep(b.slow)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return errors.New("no route")
	}
	if b.all == nil {
		b.all = map[uint64]catalog.Throttle{}
	}
	t.At = time.Now()
	b.all[t.Node] = t
	return nil
}

// ownOf is what a node has said that its own checks leave it.
func (b *board) ownOf(node uint64) catalog.Own {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all[node].Own
}

// signalsOf is what a node has said of its signals.
func (b *board) signalsOf(node uint64) []catalog.Signal {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all[node].Signals
}

func (b *board) SetSuffered(context.Context, uint64, catalog.Suffered) error { return nil }

// loaded is a server whose pressure is a load and what the nodes add.
type loaded struct {
	load  func() float64
	nodes []*node
}

func (l *loaded) Name() string { return "load" }

func (l *loaded) Read(context.Context, signal.Look) ([]signal.Reading, error) {
	value := l.load()
	for _, n := range l.nodes {
		if !n.dead.Load() {
			value += n.share() / float64(len(l.nodes))
		}
	}
	return []signal.Reading{{State: signal.Measured, Value: value, Threshold: 1}}, nil
}

// visitors are an application that is at work or not.
type visitors struct {
	here  atomic.Bool
	looks atomic.Int64
	takes func(looks int64) time.Duration // nil for none
}

func (v *visitors) Look(context.Context, signal.Querier, bool) bool {
	if looks := v.looks.Add(1); v.takes != nil {
		time.Sleep(v.takes(looks))
	}
	return v.here.Load()
}

func (v *visitors) AtWork() bool { return v.here.Load() }

func (v *visitors) Reading() signal.Reading {
	return signal.Reading{Signal: "application", State: signal.Measured, Value: 500, Threshold: 20, Bounds: true}
}

type node struct {
	*throttler
	dead atomic.Bool
	end  context.CancelFunc
}

// share is what the node's duty is set to.
func (n *node) share() float64 { return n.duty.Share() }

// newNode is a node that has work; the first one leads.
func newNode(id uint64, b *board, s signal.Signal) *node {
	return &node{throttler: &throttler{
		store: b, log: slog.New(slog.DiscardHandler), metrics: NewMetrics(nil), duty: pace.NewDuty(nil),
		busy: func() bool { return true }, leads: func() bool { return id == 1 },
		node:   func() uint64 { return id },
		limits: func() *limits { return &limits{settings: setting.Defaults()} },
		watch:  signal.NewWatch(s), control: pace.NewControl(0), others: &visitors{},
		probe:   signal.NewProbe(func(context.Context) (time.Duration, error) { return 0, nil }),
		batches: &signal.Batches{Sent: func() (int64, time.Duration) { return 0, 0 }},
	}}
}

// cluster starts nodes that look at one server; the first of them leads.
func cluster(t *testing.T, size int, b *board, load func() float64) []*node {
	t.Helper()
	server := &loaded{load: load}
	for id := range size {
		server.nodes = append(server.nodes, newNode(uint64(id)+1, b, server))
	}

	for _, n := range server.nodes {
		var ctx context.Context
		ctx, n.end = context.WithCancel(t.Context())
		go n.run(ctx)
		time.Sleep(37 * time.Millisecond) // they do not look at the same time
	}
	return server.nodes
}

// TestOneBudgetForAll: eight nodes that look at one signal go at the same speed, which a steady
// load does not make swing, and all of them have slowed down a second after the load has grown.
func TestOneBudgetForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		load := 0.0
		var mu sync.Mutex
		set := func(v float64) {
			mu.Lock()
			defer mu.Unlock()
			load = v
		}
		nodes := cluster(t, 8, &board{}, func() float64 {
			mu.Lock()
			defer mu.Unlock()
			return load
		})

		time.Sleep(time.Minute)
		set(0.5)
		time.Sleep(time.Minute)

		var speeds []float64
		for range 240 {
			time.Sleep(250 * time.Millisecond)
			sum := 0.0
			for _, n := range nodes {
				sum += n.share()
			}
			speeds = append(speeds, sum/8)
		}

		mean, squares := 0.0, 0.0
		for _, v := range speeds {
			mean += v / float64(len(speeds))
		}
		for _, v := range speeds {
			squares += (v - mean) * (v - mean) / float64(len(speeds))
		}
		if cv := math.Sqrt(squares) / mean; cv > 0.2 || mean < 0.3 || mean > 0.6 {
			t.Errorf("at a steady load the speed is %.2f, and swings by %.2f", mean, cv)
		}

		set(3)
		time.Sleep(time.Second + lookEvery)
		for _, n := range nodes {
			if n.share() > mean/2 {
				t.Errorf("node %d goes at %.2f after the load has grown, and went at %.2f", n.node(), n.share(), mean)
			}
		}
		for _, n := range nodes {
			n.end()
		}
	})
}

// slowly is a signal that takes as long as the probe does.
type slowly struct {
	loaded
	looks atomic.Int64
}

func (s *slowly) Read(ctx context.Context, l signal.Look) ([]signal.Reading, error) {
	s.looks.Add(1)
	time.Sleep(400 * time.Millisecond)
	return s.loaded.Read(ctx, l)
}

// published counts what is told of clients.
type published struct {
	board
	times atomic.Int64
}

func (p *published) SetSuffered(context.Context, uint64, catalog.Suffered) error {
	p.times.Add(1)
	return nil
}

// TestTwiceASecond: while there is work, the node that leads looks twice a second and tells as often what its clients
// have suffered, however long signals and the catalog take within that.
func TestTwiceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, b := &slowly{loaded: loaded{load: func() float64 { return 0 }}}, &published{board: board{slow: 50 * time.Millisecond}}
		n := newNode(1, &b.board, s)
		n.store = b
		var errors uint64
		n.suffers = func() catalog.Suffered {
			errors++
			return catalog.Suffered{LockErrors: errors}
		}
		ctx, end := context.WithCancel(t.Context())
		go n.run(ctx)
		time.Sleep(time.Minute + 250*time.Millisecond) // so that nothing falls on the ends of the minute that counts
		looks, told := s.looks.Load(), b.times.Load()
		time.Sleep(time.Minute)
		looks, told = s.looks.Load()-looks, b.times.Load()-told
		if looks < 118 || looks > 120 || told < 118 || told > 120 {
			t.Errorf("in a minute it has looked %d times and told %d times, want 120", looks, told)
		}
		end()
		time.Sleep(time.Second)
	})
}

// TestWhoDecides: when the node that decides dies, another one does, seconds later; and a node that
// cannot ask goes down to the floor.
func TestWhoDecides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &board{}
		nodes := cluster(t, 3, b, func() float64 { return 0 })
		time.Sleep(5 * time.Second)
		if now, _ := b.Share(t.Context()); now.Node != 1 {
			t.Errorf("node %d decides, not the leader", now.Node)
		}

		nodes[0].dead.Store(true)
		nodes[0].end()
		time.Sleep(catalog.ThrottleFor + 2*time.Second)
		if now, _ := b.Share(t.Context()); now.Node == 1 || !now.InForce() {
			t.Errorf("after the leader's death %+v is in force", now)
		}
		if share := nodes[1].share(); share != 1 {
			t.Errorf("after the leader's death the others go at %v", share)
		}

		b.mu.Lock()
		b.down = true
		b.mu.Unlock()
		time.Sleep(time.Second)
		for _, n := range nodes[1:] {
			if n.share() == 1 || n.duty.Reason() == "" {
				t.Errorf("node %d goes on although it cannot ask", n.node())
			}
		}
		for _, n := range nodes {
			n.end()
		}
	})
}

// silent is a signal that has broken down.
type silent struct{}

func (silent) Name() string { return "silent" }

func (silent) Read(context.Context, signal.Look) ([]signal.Reading, error) {
	return nil, errors.New("no route")
}

// TestUnknownIsTheFloor: what cannot be measured is not taken for good, nor for a reason to stop.
func TestUnknownIsTheFloor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c := signal.NewWatch(&loaded{load: func() float64 { return 0 }}, silent{}), pace.NewControl(0.02)
		for range 10 {
			w.Ask(t.Context(), signal.Look{})
			time.Sleep(lookEvery)
		}
		if share, by := decide(c, w); share != 0.02 || by.State != signal.Unknown || by.Signal != "silent" {
			t.Errorf("the share is %v, by %v", share, by)
		}
	})
}

// TestRoomForAnApplication: while an application is at work all nodes together have a fifth of one session's time, a
// moment after it has come; when it goes they have all of theirs at once.
func TestRoomForAnApplication(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		app := &visitors{}
		b := &board{}
		var nodes []*node
		ctx, end := context.WithCancel(t.Context())
		for id := range uint64(2) {
			n := newNode(id+1, b, &loaded{load: func() float64 { return 0 }})
			n.others = app
			n.duty.Workers(4)
			n.limits = func() *limits {
				return &limits{settings: setting.Defaults(), workers: 4, Limits: work.Limits{Nodes: 2}}
			}
			nodes = append(nodes, n)
			go n.run(ctx)
		}
		speeds := func(want float64, when string) {
			t.Helper()
			for _, n := range nodes {
				if now, _ := b.Share(t.Context()); math.Abs(now.Share-want) > 0.001 || (n.share() < 1) != (want < 1) {
					t.Errorf("%s node %d is at %.3f of %.3f, want %.3f", when, n.node(), n.share(), now.Share, want)
				}
			}
		}

		time.Sleep(time.Minute)
		speeds(1, "alone")
		for range 3 {
			app.here.Store(true)
			time.Sleep(glanceEvery + followEvery + 10*time.Millisecond)
			speeds(0.2/2/4, "beside an application")
			if why := nodes[1].duty.Reason(); why != "application: 500 > 20" {
				t.Errorf("the reason is %q", why)
			}
			time.Sleep(10 * time.Second)
			app.here.Store(false)
			time.Sleep(besideEvery + followEvery + 10*time.Millisecond)
			speeds(1, "alone again")
			time.Sleep(10 * time.Second)
		}
		end()
	})
}

// TestWorkBeginsWithRoom: whether others are at work is not known when a job begins, so until then there is room for
// them, and it is found out at once. What is not limited then is not limited at rest.
func TestWorkBeginsWithRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var works atomic.Bool
		begins, app := make(chan struct{}), &visitors{}
		n := newNode(1, &board{}, &loaded{load: func() float64 { return 0 }})
		n.others, n.busy, n.begins = app, works.Load, begins
		n.duty.Workers(4)
		var room atomic.Value
		room.Store("20")
		n.limits = func() *limits {
			values := setting.Defaults()
			values[setting.ThrottleApplication] = room.Load().(string)
			return &limits{settings: values, workers: 4, Limits: work.Limits{Nodes: 2}}
		}
		ctx, end := context.WithCancel(t.Context())
		go n.run(ctx)

		for _, here := range []bool{true, false} {
			app.here.Store(here)
			time.Sleep(time.Minute + 123*time.Millisecond)
			if n.share() != 0.2/2/4 || n.duty.Reason() != "" {
				t.Errorf("at rest the share is %v, by %q", n.share(), n.duty.Reason())
			}
			looks := app.looks.Load()
			works.Store(true)
			begins <- struct{}{}
			if time.Sleep(time.Millisecond); app.looks.Load() == looks || (n.share() < 1) != here {
				t.Errorf("others are at work: %v; at the beginning the share is %v", here, n.share())
			}
			time.Sleep(time.Minute)
			works.Store(false)
		}

		room.Store("0")
		if time.Sleep(time.Minute); n.share() != 1 {
			t.Errorf("without room for anybody the share at rest is %v", n.share())
		}
		end()
	})
}

// lengthy is a signal that takes its time.
type lengthy struct{ loaded }

func (l *lengthy) Read(ctx context.Context, look signal.Look) ([]signal.Reading, error) {
	time.Sleep(time.Second)
	return l.loaded.Read(ctx, look)
}

// TestRoomIsLeftAtAnyMoment: an application that comes while signals are asked is not kept waiting.
func TestRoomIsLeftAtAnyMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		app := &visitors{}
		n := newNode(1, &board{}, &lengthy{loaded{load: func() float64 { return 0 }}})
		n.others = app
		n.duty.Workers(4)
		ctx, end := context.WithCancel(t.Context())
		go n.run(ctx)
		time.Sleep(time.Minute)

		for moment := range 20 {
			time.Sleep(10*time.Second + time.Duration(moment)*37*time.Millisecond)
			if n.share() < 1 {
				t.Error("alone it is limited")
			}
			app.here.Store(true)
			if time.Sleep(glanceEvery + time.Millisecond); n.share() == 1 {
				t.Errorf("no room is left at moment %d", moment)
			}
			time.Sleep(time.Second)
			app.here.Store(false)
			if time.Sleep(besideEvery + time.Millisecond); n.share() < 1 {
				t.Errorf("it is limited at moment %d although the application has gone", moment)
			}
		}
		end()
		time.Sleep(2 * time.Second) // until the signal has ended
	})
}

// TestRoomIsLeftBeforeItIsTold: whoever comes does not wait until the other nodes have been told, which takes as long
// as any commit of his own.
func TestRoomIsLeftBeforeItIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		app := &visitors{}
		n := newNode(1, &board{slow: 300 * time.Millisecond}, &loaded{load: func() float64 { return 0 }})
		n.others = app
		n.duty.Workers(4)
		ctx, end := context.WithCancel(t.Context())
		go n.run(ctx)
		time.Sleep(time.Minute + 300*time.Millisecond) // it is not telling anything at the moment

		app.here.Store(true)
		if time.Sleep(glanceEvery + time.Millisecond); n.share() == 1 {
			t.Error("no room is left")
		}
		time.Sleep(time.Second)
		app.here.Store(false)
		if time.Sleep(besideEvery + 2*time.Second); n.share() < 1 {
			t.Errorf("it is limited although the application has gone")
		}
		end()
		time.Sleep(time.Second) // until it has told
	})
}

// TestGlancesThatTakeLong: where one takes long there are fewer, and where some only wait for a processor there are not.
func TestGlancesThatTakeLong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		takes       func(looks int64) time.Duration
		least, most int64 // in a minute
	}{
		{"a moment", func(int64) time.Duration { return time.Millisecond }, 2400, 3100},
		{"long", func(int64) time.Duration { return 20 * time.Millisecond }, 60, 300},
		{"long at times", func(looks int64) time.Duration {
			return time.Duration(1+19*(looks%4/3)) * time.Millisecond
		}, 1500, 2400},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				app := &visitors{takes: c.takes}
				n := newNode(1, &board{}, &loaded{load: func() float64 { return 0 }})
				n.others = app
				ctx, end := context.WithCancel(t.Context())
				go n.run(ctx)
				time.Sleep(time.Minute)
				before := app.looks.Load()
				time.Sleep(time.Minute)
				if looks := app.looks.Load() - before; looks < c.least || looks > c.most {
					t.Errorf("there are %d in a minute, want %d to %d", looks, c.least, c.most)
				}
				end()
				time.Sleep(time.Second)
			})
		})
	}
}

// TestChecksHoldOneNode: what a node is given to check holds that node back, and no other.
func TestChecksHoldOneNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &board{}
		nodes := cluster(t, 2, b, func() float64 { return 0 })
		nodes[1].end()
		time.Sleep(time.Second) // until it has ended
		held := &throttler{}
		*held = *nodes[1].throttler
		held.duty, held.own = pace.NewDuty(nil), pace.NewControl(0)
		held.checks = signal.NewWatch(&loaded{load: func() float64 { return 9 }})

		ctx, end := context.WithCancel(t.Context())
		go held.run(ctx)
		time.Sleep(10 * time.Second)
		if held.duty.Share() == 1 || held.duty.Reason() != "load: 9 > 1" {
			t.Errorf("the node with a check goes on: %q", held.duty.Reason())
		}
		if share := nodes[0].share(); share != 1 {
			t.Errorf("the other one goes at %v", share)
		}
		if own := b.ownOf(2); own.Share > 0.03 || own.HeldBy != "load: 9 > 1" || b.ownOf(1).Bounds() {
			t.Errorf("the node with a check says %+v of itself, the other one %+v", own, b.ownOf(1))
		}
		end()
		nodes[0].end()
	})
}

// TestEveryNodeShowsItsBatches: the one that leads, and those that follow it, each its own, and for how long they
// took too long.
func TestEveryNodeShowsItsBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &board{}
		nodes := []*node{newNode(1, b, silent{}), newNode(2, b, silent{})}
		for i, n := range nodes {
			began, each := time.Now(), time.Duration(i+1)*40*time.Millisecond
			n.limits = func() *limits {
				return &limits{Limits: work.Limits{Target: 50 * time.Millisecond}, settings: setting.Defaults()}
			}
			n.batches.Sent = func() (int64, time.Duration) {
				sent := int64(time.Since(began) / each)
				return sent, time.Duration(sent) * each
			}
			var ctx context.Context
			ctx, n.end = context.WithCancel(t.Context())
			go n.run(ctx)
		}

		time.Sleep(6 * time.Minute)
		for i, n := range nodes {
			n.end()
			want := catalog.Signal{Name: "batch_time", State: catalog.Measured, Value: 40 * float64(i+1), Threshold: 50, Unit: "ms"}
			said := b.signalsOf(n.node())
			at := slices.IndexFunc(said, func(s catalog.Signal) bool { return s.Name == want.Name })
			if at < 0 {
				t.Fatalf("node %d shows %+v", n.node(), said)
			}
			got, held := said[at], said[at].Held
			if got.Held, got.Age = 0, 0; got != want || math.Abs(held-0.1*float64(i)) > 0.01 {
				t.Errorf("node %d shows %+v and %.3f of the last hour, want %+v and %.1f", n.node(), got, held, want,
					0.1*float64(i))
			}
		}
		time.Sleep(time.Second) // until they have ended
	})
}

// TestSignalsAreShownAtRest: what signals say can be seen before anything is due, and holds nobody back.
func TestSignalsAreShownAtRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &board{}
		n := newNode(1, b, &loaded{load: func() float64 { return 9 }})
		n.busy = func() bool { return false }
		ctx, end := context.WithCancel(t.Context())
		go n.run(ctx)
		for range 3 {
			time.Sleep(2 * restEvery)
			now, err := b.Share(ctx)
			if err != nil || now.Decides || now.InForce() || now.Age > restEvery+lookEvery {
				t.Errorf("at rest %+v is said, %v", now, err)
			}
			if !slices.ContainsFunc(now.Signals, func(s catalog.Signal) bool { return s.Name == "load" && s.Value == 9 }) {
				t.Errorf("at rest the signals are %+v", now.Signals)
			}
			var share dto.Metric
			if err := n.metrics.share.Write(&share); err != nil {
				t.Fatal(err)
			}
			if shown := share.GetGauge().GetValue(); n.duty.Reason() != "" || shown != 1 {
				t.Errorf("at rest the reason is %q, and the share is %v as a metric", n.duty.Reason(), shown)
			}
		}
		end()
	})
}

// TestChecksAreShownAtRest: so are those of a node that does not lead, as often as the others.
func TestChecksAreShownAtRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, asked := &board{}, atomic.Int64{}
		n := newNode(2, b, silent{})
		n.busy = func() bool { return false }
		n.own, n.checks = pace.NewControl(0), signal.NewWatch(&loaded{load: func() float64 { return float64(asked.Add(1)) }})
		ctx, end := context.WithCancel(t.Context())
		go n.run(ctx)
		time.Sleep(6*restEvery + lookEvery)
		now, err := b.Share(ctx)
		shown := len(now.Signals) == 2 && now.Signals[0].Name == "batch_time" && now.Signals[1].Value >= 6
		if err != nil || now.Decides || !shown || now.Age > restEvery+lookEvery {
			t.Errorf("at rest %+v is said, %v", now, err)
		}
		if n := asked.Load(); n > 8 {
			t.Errorf("in a minute at rest a check was asked %d times", n)
		}
		end()
	})
}

// TestRestIsShownAsRest: who does nothing is not held back, whatever held him back before, and the metrics have no value
// of a signal that says nothing any more.
func TestRestIsShownAsRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, registry := &board{}, prometheus.NewRegistry()
		var works atomic.Bool
		works.Store(true)
		nodes := make([]*node, 2)
		ctx, end := context.WithCancel(t.Context())
		for i := range nodes {
			n := newNode(uint64(i+1), b, &working{busy: works.Load})
			n.busy = works.Load
			n.limits = func() *limits { return &limits{settings: setting.Defaults()} }
			if i == 0 {
				n.metrics = NewMetrics(registry)
			}
			nodes[i] = n
			go n.run(ctx)
		}

		time.Sleep(time.Minute)
		for _, n := range nodes {
			if n.share() > 0.5 || n.duty.Reason() == "" {
				t.Errorf("node %d is at %v, by %q, want it to be held back", n.node(), n.share(), n.duty.Reason())
			}
		}
		if n := shownSignals(t, registry); n != 1 {
			t.Errorf("%d signals are shown, want 1", n)
		}

		works.Store(false)
		time.Sleep(time.Minute)
		for _, n := range nodes {
			if n.duty.Reason() != "" {
				t.Errorf("at rest node %d is held back by %q", n.node(), n.duty.Reason())
			}
		}
		if n := shownSignals(t, registry); n != 0 {
			t.Errorf("at rest %d signals are shown", n)
		}
		end()
	})
}

func shownSignals(t *testing.T, registry *prometheus.Registry) (n int) {
	t.Helper()
	for of := range gathered(t, registry, "ttlproxy_throttle_signal") {
		if of.signal == "working" {
			n++
		}
	}
	return n
}

// source is what the metrics of signals are by.
type source struct{ signal, name string }

// gathered is what a metric of signals says.
func gathered(t *testing.T, registry *prometheus.Registry, name string) map[source]float64 {
	t.Helper()
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[source]float64{}
	for _, family := range all {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			of := source{}
			for _, l := range m.GetLabel() {
				switch l.GetName() {
				case "signal":
					of.signal = l.GetValue()
				case "source":
					of.name = l.GetValue()
				}
			}
			values[of] = m.GetGauge().GetValue()
		}
	}
	return values
}

// replicas is a signal of many sources, each further behind than the one before. The name of the last but one is no
// text, and the last one says nothing.
type replicas struct{}

func (replicas) Name() string { return "replica_lag" }

func (replicas) Read(context.Context, signal.Look) ([]signal.Reading, error) {
	all := make([]signal.Reading, 2*sourcesWithMetrics)
	for i := range all {
		all[i] = signal.Reading{
			Source: fmt.Sprintf("db%d", i), State: signal.Measured, Value: float64(i), Threshold: 1000,
		}
	}
	twice, last := &all[len(all)-2], &all[len(all)-1]
	twice.Source = "db\xff"
	*last = signal.Reading{Source: last.Source, State: signal.Unknown, Hold: true, Detail: "no route"}
	return append(all, *twice, *last), nil
}

// TestMetricsOfSignals: of each signal the worst sources are shown, with what SHOW TTL THROTTLE says of them: values,
// their age, and for how much of the last hour they held deletion back.
func TestMetricsOfSignals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		n := newNode(1, &board{}, replicas{})
		n.limits = func() *limits { return &limits{settings: setting.Defaults()} }
		n.metrics = NewMetrics(registry)
		ctx, end := context.WithCancel(t.Context())
		go n.run(ctx)
		time.Sleep(6 * time.Minute)
		end()
		time.Sleep(4 * time.Second) // it measures no more

		values, thresholds := gathered(t, registry, "ttlproxy_throttle_signal"),
			gathered(t, registry, "ttlproxy_throttle_threshold")
		ages, held := gathered(t, registry, "ttlproxy_throttle_signal_age_seconds"),
			gathered(t, registry, "ttlproxy_throttle_held_ratio")
		last := source{"replica_lag", fmt.Sprintf("db%d", 2*sourcesWithMetrics-1)}
		worst := source{"replica_lag", "db?"}
		if values[worst] != 2*sourcesWithMetrics-2 || thresholds[worst] != 1000 {
			t.Errorf("the worst value is %v of %v", values[worst], thresholds[worst])
		}
		if _, known := values[last]; known || ages[last] < 4 || ages[last] > 8 || math.Abs(held[last]-0.1) > 0.01 {
			t.Errorf("of what is not known there is a value (%v), it is %v s old and held for %v of the hour", known, ages[last],
				held[last])
		}
		if held[worst] != 0 {
			t.Errorf("what held nothing back did so for %v of the hour", held[worst])
		}

		sources := 0
		for of := range ages {
			if of.signal == "replica_lag" {
				sources++
			}
		}
		if _, shown := ages[source{"replica_lag", "db0"}]; shown || sources != sourcesWithMetrics {
			t.Errorf("%d sources are shown, want the %d that are worst", sources, sourcesWithMetrics)
		}
	})
}

// working is a signal that is too high while there is work, and says nothing otherwise.
type working struct{ busy func() bool }

func (*working) Name() string { return "working" }

func (w *working) Read(context.Context, signal.Look) ([]signal.Reading, error) {
	if w.busy() {
		return []signal.Reading{{State: signal.Measured, Value: 3, Threshold: 1}}, nil
	}
	return []signal.Reading{{State: signal.NotSeen, Detail: "nothing is done"}}, nil
}

// watcher notes what it is told about each look, and at what share the node went since the last.
type watcher struct {
	mu       sync.Mutex
	node     *node
	pressure float64
	looks    []watched
}

type watched struct {
	resting bool
	share   float64
}

func (*watcher) Name() string { return "watcher" }

func (w *watcher) Read(_ context.Context, l signal.Look) ([]signal.Reading, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks = append(w.looks, watched{l.Resting, w.node.share()})
	return []signal.Reading{{State: signal.Measured, Value: w.pressure, Threshold: 1}}, nil
}

// take returns the looks since the last call, and sets the pressure from now on.
func (w *watcher) take(pressure float64) []watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	looks := w.looks
	w.looks, w.pressure = nil, pressure
	return looks
}

// TestWhoeverLeadsAgain: a node that has followed another one and leads again goes gently first, learns, and goes on
// from the share that it has obeyed, not from the one of its own time.
func TestWhoeverLeadsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var leader, looks atomic.Int64
		leader.Store(1)
		load := func() float64 {
			looks.Add(1)
			if leader.Load() == 1 && looks.Load() < 100 {
				return 0
			}
			return 0.8
		}
		server := &loaded{load: load}
		for id := range 2 {
			n := newNode(uint64(id)+1, &board{}, server)
			n.leads = func() bool { return leader.Load() == int64(id)+1 }
			server.nodes = append(server.nodes, n)
		}
		first, second := server.nodes[0], server.nodes[1]
		second.store = first.store
		for _, n := range server.nodes {
			var ctx context.Context
			ctx, n.end = context.WithCancel(t.Context())
			go n.run(ctx)
		}

		time.Sleep(20 * time.Second)
		if share := first.share(); share != 1 {
			t.Errorf("without a load the first one goes at %.2f", share)
		}
		leader.Store(2)
		time.Sleep(time.Minute)
		obeyed := first.share()
		if obeyed > 0.4 || obeyed != second.share() {
			t.Errorf("with a load the first one goes at %.2f, the second at %.2f", obeyed, second.share())
		}

		looks.Store(100)
		leader.Store(1)
		time.Sleep(time.Second)
		if share := first.share(); share > gently || first.duty.Reason() != learning {
			t.Errorf("when it leads again it goes at %.2f, because of %q", share, first.duty.Reason())
		}
		for range 20 {
			time.Sleep(lookEvery)
			if share := first.share(); share > 2*obeyed {
				t.Errorf("when it leads again it goes at %.2f, and went at %.2f", share, obeyed)
			}
		}
		for _, n := range server.nodes {
			n.end()
		}
		time.Sleep(time.Second)
	})
}

// TestUsualIsLearntGently: a node that begins to lead with work to do goes gently until it knows what
// is usual, then at full speed, and learns nothing then; held down for long it learns again.
func TestUsualIsLearntGently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &watcher{}
		n := newNode(1, &board{}, w)
		w.node = n

		ctx, end := context.WithCancel(t.Context())
		go n.run(ctx)
		time.Sleep(4 * time.Second)
		first := w.take(0)
		learnt := 0
		for i, l := range first {
			if l.resting {
				learnt++
			}
			if l.resting && l.share > gently || i < gentleLooks && l.resting {
				t.Errorf("look %d of %+v is taken for rest", i, first)
			}
		}
		if learnt != firstLooks || n.share() != 1 {
			t.Errorf("after %d looks at rest the node goes at %.2f", learnt, n.share())
		}

		time.Sleep(time.Minute)
		for _, l := range w.take(50) {
			if l.resting {
				t.Error("at full speed something is learnt")
			}
		}

		time.Sleep(time.Minute)
		held := w.take(0)
		if last := held[len(held)-1]; !last.resting {
			t.Errorf("held down for a minute nothing is learnt: %+v", last)
		}
		end()
	})
}

// hangs is a signal whose question is never answered: it waits for a lock that somebody has. A SLEEP would not do:
// where MariaDB ends several at the same moment, for seconds no session of it goes on that has a time limit.
type hangs struct{ name string }

func (s hangs) Name() string { return s.name }

func (hangs) Read(ctx context.Context, l signal.Look) ([]signal.Reading, error) {
	var n int
	err := l.Server.QueryRowContext(ctx, "SELECT GET_LOCK('hangs', 100)").Scan(&n)
	return nil, errors.Join(err, errors.New("it hangs"))
}

// TestSignalsThatHang: however many questions hang, no other waits for their connections.
func TestSignalsThatHang(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		has, err := mysqltest.Open(t, cfg).Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { has.Close() })
		mustExec(t, has, "DO GET_LOCK('hangs', 0)")

		connector, err := catalog.Connector(signal.Bounded(cfg), signal.EndQuestions)
		if err != nil {
			t.Fatal(err)
		}
		all := append(signal.All(), hangs{"a"}, hangs{"b"}, hangs{"c"}, hangs{"d"})
		db := openFor(connector, len(all))
		t.Cleanup(func() { db.Close() })

		w := signal.NewWatch(all...)
		for range 20 {
			w.Ask(t.Context(), signal.Look{Server: db, Settings: setting.Defaults()})
			work.Wait(t.Context(), lookEvery)
			for _, r := range w.Readings() {
				if r.State == signal.Unknown && len(r.Signal) > 1 {
					t.Fatalf("beside others that hang it says %v", r)
				}
			}
		}
		if r, _ := signal.Strictest(w.Readings()); r.State != signal.Unknown {
			t.Errorf("of one that hangs it says %v", r)
		}
	})
}
