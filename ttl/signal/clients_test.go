package signal

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// counted is what nodes have counted.
type counted struct {
	nodes map[uint64]Suffered
	err   error
}

func (c *counted) read(context.Context) (map[uint64]Suffered, error) {
	all := map[uint64]Suffered{}
	for node, n := range c.nodes {
		all[node] = Suffered{maps.Clone(n.Took), n.LockErrors}
	}
	return all, c.err
}

// see adds commands that took so many microseconds.
func (c *counted) see(node uint64, took int64, n uint64) {
	now := c.nodes[node]
	if now.Took == nil {
		now.Took = map[int64]uint64{}
	}
	now.Took[took] += n
	c.nodes[node] = now
}

// refuse adds errors.
func (c *counted) refuse(node, n uint64) {
	now := c.nodes[node]
	now.LockErrors += n
	c.nodes[node] = now
}

// TestClients: what one in fifty clients suffers is seen, of any node, and nothing is made up where
// few commands pass, a node has started anew, or nobody has rested.
func TestClients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes := &counted{nodes: map[uint64]Suffered{}}
		settings := setting.Defaults()
		settings[setting.ThrottleLockErrors] = "0"
		c := NewClients(nodes.read)
		look := func(resting bool) Reading {
			t.Helper()
			all, err := c.Read(t.Context(), Look{Settings: settings, Resting: resting})
			if err != nil || len(all) != 1 {
				t.Fatalf("it says %v (%v)", all, err)
			}
			return all[0]
		}

		nodes.see(1, 1000, 1_000_000) // before anybody looked
		if r := look(true); r.State != NotSeen {
			t.Errorf("after one look it says %v", r)
		}
		for range usualAfter {
			if r := look(true); r.State != NotSeen {
				t.Errorf("of no commands it says %v", r)
			}
		}

		quick := func() {
			nodes.see(1, 1000, 400)
			nodes.see(2, 1200, 400)
		}
		quick()
		look(false)
		quick()
		if r := look(false); r.State != NotSeen {
			t.Errorf("without rest it says %v", r)
		}
		for range usualAfter {
			quick()
			look(true)
		}
		if r := look(false); r.State != Measured || r.Value != 1.2 || r.Pressure() > 1 {
			t.Errorf("as usual it says %v", r)
		}

		quick()
		nodes.see(2, 100_000, 90)
		if r := look(false); r.Value != 100 || r.Pressure() < 10 {
			t.Errorf("when one of many suffers it says %v", r)
		}

		for range 20 {
			quick()
			look(false)
		}
		nodes.nodes[2] = Suffered{Took: map[int64]uint64{500_000: 1000}} // it has started anew
		quick()
		if r := look(false); r.State != Measured || r.Pressure() > 1 {
			t.Errorf("of a node that has started anew it says %v", r)
		}
		quick()
		nodes.see(2, 100_000, 90)
		if r := look(false); r.Pressure() < 10 {
			t.Errorf("when clients suffer of a node that has started anew it says %v", r)
		}

		nodes.err = errors.New("no route")
		if all, err := c.Read(t.Context(), Look{Settings: settings}); err == nil {
			t.Errorf("without an answer it says %v", all)
		}
		off := setting.Values{setting.ThrottleLatency: "0", setting.ThrottleLockErrors: "0"}
		if all, err := c.Read(t.Context(), Look{Settings: off}); err != nil || len(all) != 0 {
			t.Errorf("switched off, it says %v (%v)", all, err)
		}
	})
}

// TestClientsAfterHarm: what clients waited while rows were deleted at full speed is not taken for usual at the first
// looks at rest, although it counts for some looks more.
func TestClientsAfterHarm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes := &counted{nodes: map[uint64]Suffered{}}
		settings := setting.Defaults()
		c := NewClients(nodes.read)
		look := func(took int64, commands uint64, resting bool) Reading {
			t.Helper()
			nodes.see(1, took, commands)
			all, err := c.Read(t.Context(), Look{Settings: settings, Resting: resting})
			if err != nil || len(all) != 2 {
				t.Fatalf("it says %v (%v)", all, err)
			}
			time.Sleep(500 * time.Millisecond)
			return all[0]
		}
		for range 20 {
			look(100_000, 500, false)
		}
		look(1000, 60, true) // too few to tell of a look alone
		for range 2 * usualAfter {
			look(1000, 60, true)
		}
		if r := look(1000, 60, false); r.State != Measured || r.Threshold > 3 {
			t.Errorf("after harm it says %v", r)
		}

		look(100_000, 500, false)
		look(1000, 500, true)
		if r := look(1000, 500, false); r.Threshold > 3 {
			t.Errorf("after more of it, it says %v", r)
		}
	})
}

// TestClientsAfterABreak: what came while others looked is nothing of late, and what is usual is what it was, unless
// that was long ago.
func TestClientsAfterABreak(t *testing.T) {
	t.Parallel()
	for rest, known := range map[time.Duration]bool{time.Minute: true, 24 * time.Hour: false} {
		t.Run(rest.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				nodes := &counted{nodes: map[uint64]Suffered{}}
				c := NewClients(nodes.read)
				var led time.Time
				look := func(resting bool) (latency, errors Reading) {
					t.Helper()
					nodes.see(1, 1000, 400)
					all, err := c.Read(t.Context(), Look{Settings: setting.Defaults(), Resting: resting, Led: led})
					if err != nil || len(all) != 2 {
						t.Fatalf("it says %v (%v)", all, err)
					}
					time.Sleep(500 * time.Millisecond)
					return all[0], all[1]
				}
				for range 2 * usualAfter {
					look(true)
				}

				time.Sleep(rest)
				nodes.see(1, 900_000, 1_000_000)
				nodes.refuse(1, 100_000)
				led = time.Now()
				look(false)
				latency, errors := look(false)
				want := NotSeen
				if known {
					want = Measured
				}
				if latency.State != want || errors.State != want || latency.Pressure() > 1 || errors.Pressure() > 1 {
					t.Errorf("after %v it says %v and %v", rest, latency, errors)
				}
			})
		})
	}
}

// TestUsualAfterABreak: what was learnt is believed without a break, however long ago it was.
func TestUsualAfterABreak(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var u usual
		led := time.Now()
		for range usualAfter {
			u.learn(1)
		}
		time.Sleep(24 * time.Hour)
		if u.resume(led); !u.known() {
			t.Error("what was learnt is forgotten although nobody else has looked")
		}
		if u.resume(time.Now()); u.known() {
			t.Error("what was learnt a day ago, before others looked, is believed")
		}
	})
}
