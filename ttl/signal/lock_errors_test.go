package signal

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// TestLockErrors: errors of locks slow deletion down within a second if there are more than usual; what
// is usual is learnt at rest alone; and where nothing passes, nothing is made up.
func TestLockErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes := &counted{nodes: map[uint64]Suffered{}}
		settings := setting.Defaults()
		settings[setting.ThrottleLatency] = "0"
		look := newErrorLook(t, nodes, settings)

		for range 2 * usualAfter {
			if r := look(true); r.State != NotSeen {
				t.Errorf("of no commands it says %v", r)
			}
		}

		nodes.see(1, 1000, 5)
		for range 20 {
			if r := look(false); r.State != NotSeen {
				t.Fatalf("without rest it says %v", r)
			}
			nodes.see(1, 1000, 5)
			nodes.refuse(1, 1)
		}
		nodes.nodes[1] = Suffered{} // it has started anew
		for range 40 * usualAfter {
			nodes.see(1, 1000, 5)
			look(true)
		}
		if r := look(false); r.State != Measured || r.Value > 5 || r.Pressure() > 0.9 {
			t.Errorf("as usual it says %v", r)
		}

		nodes.refuse(1, 5)
		look(false)
		nodes.refuse(1, 5)
		if r := look(false); r.Pressure() < 1.5 {
			t.Errorf("within a second of errors it says %v", r)
		}
		nodes.nodes[2] = Suffered{LockErrors: 1000} // before anybody looked
		before := look(false)
		if now := look(false); now.Value > before.Value {
			t.Errorf("of a node that is new it says %v", now)
		}
		for range 120 {
			nodes.see(1, 1000, 5)
			look(false)
		}
		if r := look(false); r.Pressure() > 0.9 || r.Threshold > 20 {
			t.Errorf("a minute after errors it says %v", r)
		}
	})
}

// TestUsualLockErrors: what an application lives with holds nothing back, twice as much does.
func TestUsualLockErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes := &counted{nodes: map[uint64]Suffered{}}
		settings := setting.Defaults()
		settings[setting.ThrottleLatency] = "0"
		look := newErrorLook(t, nodes, settings)
		often := func(each uint64) {
			nodes.see(1, 1000, 100)
			nodes.refuse(1, each)
		}

		for range 10 * usualAfter {
			often(1)
			look(true)
		}
		for range 60 {
			often(1)
			if r := look(false); r.State != Measured || r.Pressure() > 1 {
				t.Fatalf("as usual it says %v", r)
			}
		}
		for range 120 {
			often(3)
			look(false)
		}
		if r := look(false); r.Pressure() < 1.2 {
			t.Errorf("three times as many are %v", r)
		}

		settings[setting.ThrottleLockErrors] = "0"
		c := NewClients(nodes.read)
		if all, err := c.Read(t.Context(), Look{Settings: settings}); err != nil || len(all) != 0 {
			t.Errorf("switched off, it says %v (%v)", all, err)
		}
	})
}

// newErrorLook looks twice a second.
func newErrorLook(t *testing.T, nodes *counted, settings setting.Values) func(resting bool) Reading {
	t.Helper()
	c := NewClients(nodes.read)
	return func(resting bool) Reading {
		t.Helper()
		time.Sleep(500 * time.Millisecond) // of the bubble
		all, err := c.Read(t.Context(), Look{Settings: settings, Resting: resting})
		if err != nil || len(all) != 1 || all[0].Signal != "lock_errors" {
			t.Fatalf("it says %v (%v)", all, err)
		}
		return all[0]
	}
}
