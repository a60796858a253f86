package ttl

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/signal"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// TestRoomOfManyNodes: however many nodes and workers there are, and however many of them the leader finds worth
// having, all together have a fifth of one session's time beside an application, unless somebody has set a floor.
func TestRoomOfManyNodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		floor   string // set by somebody; empty for none
		leader  int    // workers that pay there
		least   float64
		mostAll float64
	}{
		"as it comes":             {"", 4, 0.199, 0.201},
		"one worker pays":         {"", 1, 0.17, 0.201},
		"a floor set by somebody": {"2", 4, 0.639, 0.641},
		"no floor":                {"0", 4, 0.199, 0.201},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				app, b := &visitors{}, &board{}
				var nodes []*node
				ctx, end := context.WithCancel(t.Context())
				for id := range uint64(8) {
					n := newNode(id+1, b, &loaded{load: func() float64 { return 0 }})
					n.others = app
					n.duty.Workers(4)
					n.limits = func() *limits {
						values := setting.Defaults()
						if c.floor != "" {
							values[setting.ThrottleFloor] = c.floor
						}
						return &limits{settings: values, floorSet: c.floor != "", workers: 4, Limits: work.Limits{Nodes: 8}}
					}
					nodes = append(nodes, n)
					go n.run(ctx)
				}
				nodes[0].duty.Workers(c.leader)
				time.Sleep(time.Minute)
				app.here.Store(true)
				time.Sleep(2 * time.Second)

				sessions := 0.0
				for i, n := range nodes {
					workers := 4.0
					if i == 0 {
						workers = float64(c.leader)
					}
					sessions += n.share() * workers
				}
				if sessions < c.least || sessions > c.mostAll {
					t.Errorf("all nodes have %.3f sessions' time, want %.3f to %.3f", sessions, c.least, c.mostAll)
				}
				end()
				time.Sleep(time.Second)
			})
		})
	}
}

// rests is how many of the looks are taken for rest.
func rests(looks []watched) (n int) {
	for _, l := range looks {
		if l.resting {
			n++
		}
	}
	return n
}

// TestNothingIsLearntBesideOneInAHurry: while a table has a large share of its own, nothing is taken for usual although
// all others go gently; nor do they wait for that.
func TestNothingIsLearntBesideOneInAHurry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &watcher{}
		n := newNode(1, &board{}, w)
		w.node = n
		n.duty.SetFloors(map[uint64]float64{7: 1})
		ctx, end := context.WithCancel(t.Context())
		go n.run(ctx)
		time.Sleep(10 * time.Second)
		if n.share() != 1 {
			t.Errorf("others go at %.2f until what is usual is known", n.share())
		}
		w.take(50)
		time.Sleep(time.Minute)
		if looks := w.take(50); rests(looks) > 0 || n.share() > 0.05 {
			t.Errorf("at %.2f of all, %d of %d looks are taken for rest", n.share(), rests(looks), len(looks))
		}

		n.duty.SetFloors(map[uint64]float64{7: 0.02, 8: 0.02, 9: 0.04})
		time.Sleep(time.Minute)
		if looks := w.take(50); rests(looks) > 0 {
			t.Errorf("beside several floors %d of %d looks are taken for rest", rests(looks), len(looks))
		}
		n.duty.SetFloors(nil)
		time.Sleep(time.Minute)
		if looks := w.take(50); rests(looks) == 0 {
			t.Error("nothing is learnt once it has ended")
		}
		end()
		time.Sleep(time.Second)
	})
}

// TestNothingIsLearntOfManyWorkers: a twentieth of the speed of many nodes is not gently.
func TestNothingIsLearntOfManyWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &watcher{}
		n := newNode(1, &board{}, w)
		w.node = n
		n.limits = func() *limits {
			values := setting.Defaults()
			values[setting.ThrottleFloor] = "0"
			return &limits{settings: values, floorSet: true, workers: 4, Limits: work.Limits{Nodes: 8}}
		}
		n.duty.Workers(4)
		ctx, end := context.WithCancel(t.Context())
		go n.run(ctx)
		time.Sleep(4 * time.Second)
		if looks := w.take(50); rests(looks) != firstLooks {
			t.Errorf("at first %d of %d looks are taken for rest", rests(looks), len(looks))
		}
		time.Sleep(10 * time.Second)
		for _, l := range w.take(50) {
			if l.resting && l.share*8*4 > gentleSessions*1.001 {
				t.Errorf("at %.3f of the speed of 8 nodes, something is learnt", l.share)
			}
		}
		end()
		time.Sleep(time.Second)
	})
}

// TestNothingIsLearntAtOnce: neither of a time in which an application has gone, so that there was full speed for a
// part of it, nor by one who has just begun to decide, nor at the beginning of a rest.
func TestNothingIsLearntAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, app := &watcher{}, &visitors{}
		var works, leads atomic.Bool
		works.Store(true)
		leads.Store(true)
		b := &board{}
		n := newNode(2, b, w)
		w.node, n.others, n.busy, n.leads = n, app, works.Load, leads.Load
		n.duty.Workers(4)
		ctx, end := context.WithCancel(t.Context())
		go n.run(ctx)

		time.Sleep(10 * time.Second)
		app.here.Store(true)
		for moment := range 20 {
			time.Sleep(5*time.Second + time.Duration(13+37*moment)*time.Millisecond) // never when it looks
			w.take(0)
			app.here.Store(false)
			time.Sleep(2 * time.Second)
			if looks := w.take(0); rests(looks) > 0 {
				t.Errorf("at moment %d %d looks are taken for rest", moment, rests(looks))
			}
			app.here.Store(true)
		}

		time.Sleep(5 * time.Second)
		leads.Store(false)
		if err := b.SetThrottle(t.Context(), catalog.Throttle{Node: 1, Decides: true, Share: 1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		w.take(0)
		leads.Store(true)
		time.Sleep(lookEvery + lookEvery/2)
		if looks := w.take(0); rests(looks) > 0 || len(looks) == 0 {
			t.Errorf("who has just begun to decide takes %d of %d looks for rest", rests(looks), len(looks))
		}

		app.here.Store(false)
		time.Sleep(5 * time.Second)
		w.take(0)
		works.Store(false)
		time.Sleep(settles)
		if looks := w.take(0); rests(looks) > 0 {
			t.Errorf("when work has just ended %d looks are taken for rest", rests(looks))
		}
		time.Sleep(2 * restEvery)
		if looks := w.take(0); rests(looks) == 0 {
			t.Error("nothing is learnt at rest")
		}
		end()
		time.Sleep(time.Second)
	})
}

// TestChecksAreCountedOnce: a check that holds a node back has done so for no longer than time has passed, however
// often it is asked, by a node that follows and by one that leads.
func TestChecksAreCountedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, app := &board{}, &visitors{}
		var nodes []*node
		ctx, end := context.WithCancel(t.Context())
		for id := range uint64(2) {
			n := newNode(id+1, b, &loaded{load: func() float64 { return 0 }})
			n.own, n.checks = pace.NewControl(0), signal.NewWatch(&made{"check"})
			n.others = app
			n.duty.Workers(4)
			nodes = append(nodes, n)
			go n.run(ctx)
		}
		for range 60 * 6 { // an application that comes and goes
			time.Sleep(time.Second)
			app.here.Store(!app.here.Load())
		}
		end()
		time.Sleep(time.Second)
		for _, n := range nodes {
			said := b.signalsOf(n.node())
			at := slices.IndexFunc(said, func(s catalog.Signal) bool { return s.Name == "check" })
			if at < 0 {
				t.Fatalf("node %d says %+v", n.node(), said)
			}
			if math.Abs(said[at].Held-0.1) > 0.01 {
				t.Errorf("in a tenth of an hour node %d was held back for %.3f of it", n.node(), said[at].Held)
			}
		}
	})
}

// made is a check that finds far too much.
type made struct{ name string }

func (m *made) Name() string { return m.name }

func (*made) Read(context.Context, signal.Look) ([]signal.Reading, error) {
	return []signal.Reading{{State: signal.Measured, Value: 1000, Threshold: 1}}, nil
}
