package catalog

import (
	"maps"
	"testing"
	"time"
)

// TestThrottle: what a node measures is what all read, the last decision decides, and a node that
// decides nothing is only shown.
func TestThrottle(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		share := func() Throttle {
			t.Helper()
			now, err := b.Share(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return now
		}
		say := func(now Throttle) {
			t.Helper()
			if err := b.SetThrottle(ctx, now); err != nil {
				t.Fatal(err)
			}
		}

		if now := share(); now.InForce() {
			t.Errorf("before anybody has measured %+v is in force", now)
		}

		lag := Signal{Name: "lag", Source: "db2", State: Measured, Value: 3.2, Threshold: 1, Unit: "s", Held: 0.25}
		say(Throttle{Node: 1, Decides: true, Share: 0.5, HeldBy: "lag of db2", Signals: []Signal{lag}})
		say(Throttle{Node: 2, Signals: []Signal{{Name: "latency", State: "not seen", Detail: "nobody writes"}}})
		if now := share(); !now.InForce() || now.Node != 1 || now.Share != 0.5 || now.HeldBy != "lag of db2" {
			t.Errorf("in force is %+v", now)
		}

		say(Throttle{Node: 3, Decides: true, Share: 0.25})
		if now := share(); now.Node != 3 || now.Share != 0.25 || now.Age > time.Minute {
			t.Errorf("after another decision %+v is in force", now)
		}

		all, err := b.Throttles(ctx)
		if err != nil || len(all) != 3 || all[0].Node != 3 || all[1].Node != 1 || all[2].Decides ||
			len(all[1].Signals) != 1 || all[1].Signals[0] != lag {
			t.Errorf("all that was measured is %+v (%v)", all, err)
		}

		say(Throttle{Node: 2, Own: Own{HeldBy: "web_check: 503"}})
		shares, err := b.Shares(ctx)
		if err != nil || len(shares) != 3 || shares[0].Node != 3 || !shares[0].InForce() || shares[0].Own.Bounds() ||
			shares[2].Node != 2 || shares[2].InForce() || shares[2].Own != (Own{0, "web_check: 503"}) {
			t.Errorf("nodes delete by %+v (%v)", shares, err)
		}

		b.exec(t, "UPDATE {throttle} SET measured_at = measured_at - INTERVAL 61 SECOND WHERE node_id < 3")
		if all, err = b.Throttles(ctx); err != nil || len(all) != 1 || all[0].Node != 3 {
			t.Errorf("a minute later what was measured is %+v (%v)", all, err)
		}
		b.exec(t, "UPDATE {throttle} SET measured_at = measured_at - INTERVAL 1 HOUR")
		if all, err = b.Throttles(ctx); err != nil || len(all) != 1 || all[0].Age < time.Hour {
			t.Errorf("an hour later what was measured last is %+v (%v)", all, err)
		}

		b.exec(t, "UPDATE {throttle} SET measured_at = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR WHERE node_id = 3")
		say(Throttle{Node: 1, Decides: true, Share: 0.125})
		shares, err = b.Shares(ctx)
		if now := share(); err != nil || len(shares) != 1 || now.Node != 1 || !now.InForce() {
			t.Errorf("after the clock was set back by an hour %+v of %+v is in force (%v)", now, shares, err)
		}
		if all, err = b.Throttles(ctx); err != nil || len(all) != 1 || all[0].Node != 1 {
			t.Errorf("after the clock was set back what was measured last is %+v (%v)", all, err)
		}
		for age, want := range map[time.Duration]bool{
			-time.Hour: false, -clocksApart: true, 0: true, ThrottleFor: true, time.Minute: false,
		} {
			if got := (Throttle{Age: age}).Fresh(); got != want {
				t.Errorf("fresh after %v: got %v, want %v", age, got, want)
			}
		}

		if err := b.SetThrottle(ctx, Throttle{Node: 4, Decides: true, Share: 1.5}); err == nil {
			t.Error("one and a half of the full speed was accepted")
		}
	})
}

// TestSuffered: what clients of each node have suffered is read as it was recorded last.
func TestSuffered(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		now := Suffered{Latencies: map[int64]uint64{100: 5, 2_000_000: 1}, LockErrors: 1<<64 - 1}
		for node, s := range map[uint64]Suffered{1: {LockErrors: 1}, 2: {}} {
			if err := b.SetSuffered(t.Context(), node, s); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.SetSuffered(t.Context(), 1, now); err != nil {
			t.Fatal(err)
		}
		all, err := b.Suffered(t.Context())
		if err != nil || len(all) != 2 || !maps.Equal(all[1].Latencies, now.Latencies) ||
			all[1].LockErrors != now.LockErrors || all[2].LockErrors != 0 {
			t.Errorf("nodes have suffered %v (%v)", all, err)
		}

		b.exec(t, "UPDATE {latency} SET measured_at = measured_at + INTERVAL 1 HOUR WHERE node_id = 2")
		if all, err = b.Suffered(t.Context()); err != nil || len(all) != 1 || all[1].LockErrors == 0 {
			t.Errorf("after the clock was set back nodes have suffered %v (%v)", all, err)
		}
	})
}
