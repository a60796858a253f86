package signal

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// made is a signal that answers as a test says.
type made struct {
	name string
	read func(ctx context.Context) ([]Reading, error)
}

func (m made) Name() string { return m.name }

func (m made) Read(ctx context.Context, _ Look) ([]Reading, error) { return m.read(ctx) }

// calm is a signal that always answers.
var calm = made{"calm", func(context.Context) ([]Reading, error) {
	return []Reading{{State: Measured, Value: 1, Threshold: 2}}, nil
}}

// TestWatchSurvivesItsSignals: one that hangs, fails or panics is unknown a few seconds later, and
// the others are read as ever. One that recovers is believed at once.
func TestWatchSurvivesItsSignals(t *testing.T) {
	t.Parallel()
	bad := map[string]func(ctx context.Context) ([]Reading, error){
		"hangs":  hang,
		"slow":   func(ctx context.Context) ([]Reading, error) { <-ctx.Done(); return nil, ctx.Err() },
		"fails":  func(context.Context) ([]Reading, error) { return nil, errors.New("no route") },
		"panics": func(context.Context) ([]Reading, error) { panic("nil map") },
	}

	for name, read := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var broken atomic.Bool
				w := NewWatch(calm, made{"odd", func(ctx context.Context) ([]Reading, error) {
					if broken.Load() {
						return read(ctx)
					}
					return []Reading{{State: Measured, Value: 3, Threshold: 2}}, nil
				}})

				look := func(d time.Duration) (odd Reading) {
					for end := time.Now().Add(d); time.Now().Before(end); {
						began := time.Now()
						w.Ask(t.Context(), Look{})
						if took := time.Since(began); took > promptly {
							t.Errorf("a look took %v", took)
						}
						time.Sleep(500*time.Millisecond - time.Since(began))
					}

					all := w.Readings()
					if len(all) != 2 || all[0].Signal != "calm" || all[0].State != Measured ||
						time.Since(all[0].At) > time.Second {
						t.Fatalf("readings are %v", all)
					}
					return all[1]
				}

				if odd := look(time.Second); odd.State != Measured {
					t.Errorf("it says %v", odd)
				}
				broken.Store(true)
				if odd := look(time.Second); odd.State != Measured {
					t.Errorf("after one question without an answer it says %v", odd)
				}
				if odd := look(4 * time.Second); odd.State != Unknown || odd.Detail == "" {
					t.Errorf("without an answer for seconds it says %v", odd)
				}
				if r, _ := Strictest(w.Readings()); r.Signal != "odd" {
					t.Errorf("the strictest is %v", r)
				}

				broken.Store(false)
				if odd := look(2 * time.Second); name != "hangs" && odd.State != Measured {
					t.Errorf("once it answers again it says %v", odd)
				}
				time.Sleep(2 * time.Hour) // until what hangs has ended
			})
		})
	}
}

// TestWhatIsNoNumberIsUnknown: it is neither good nor so bad that nothing may go, and can be told.
func TestWhatIsNoNumberIsUnknown(t *testing.T) {
	t.Parallel()
	for _, odd := range []Reading{
		{Value: math.NaN(), Threshold: 1},
		{Value: math.Inf(1), Threshold: 1},
		{Value: math.Inf(-1), Threshold: 1},
		{Value: 1, Threshold: math.NaN()},
		{Value: 1, Threshold: 1, Ahead: math.NaN()},
	} {
		odd.State = Measured
		w := NewWatch(calm, made{"odd", func(context.Context) ([]Reading, error) { return []Reading{odd}, nil }})
		w.Ask(t.Context(), Look{})
		r, _ := Strictest(w.Readings())
		if _, err := json.Marshal(r); err != nil || r.Signal != "odd" || r.State != Unknown || r.Detail == "" {
			t.Errorf("of %+v it says %+v (%v)", odd, r, err)
		}
	}
}

// hang takes no notice of its context.
func hang(context.Context) ([]Reading, error) {
	time.Sleep(time.Hour)
	return nil, errors.New("too late")
}

// TestStrictest: what holds comes before what is unknown, that before what is measured, and what is
// not seen decides nothing.
func TestStrictest(t *testing.T) {
	t.Parallel()
	if _, found := Strictest(nil); found {
		t.Error("no readings have a strictest")
	}

	order := []Reading{
		{State: NotSeen},
		{State: Measured, Value: 1, Threshold: 10},
		{State: Measured, Value: 0.5, Threshold: 1},
		{State: Measured, Value: 300, Threshold: 100},
		{State: Unknown},
		{State: Holds},
	}
	for n := range order {
		r, _ := Strictest(order[:n+1])
		if r != order[n] && order[n].State != NotSeen {
			t.Errorf("of %d the strictest is %v, want %v", n+1, r, order[n])
		}
	}

	if p := order[3].Pressure(); p != 3 {
		t.Errorf("its pressure is %v", p)
	}
	if p := order[5].Pressure(); !math.IsInf(p, 1) {
		t.Errorf("what holds has a pressure of %v", p)
	}
	if p := order[0].Pressure() + (Reading{State: Measured, Value: 4}).Pressure(); p != 0 {
		t.Errorf("nothing has a pressure of %v", p)
	}
}

// TestReadingsForPeople: a reading names its signal, source, value and threshold.
func TestReadingsForPeople(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Reading{
		"lag of db2: 3.21 s > 1 s": {
			Signal: "lag", Source: "db2", State: Measured, Value: 3.2101, Threshold: 1, Unit: "s",
		},
		"replica_lag of db2:3306: 3.2 s > 1 s": {
			Signal: "replica_lag", Source: "db2:3306", State: Measured, Value: 3241.7, Threshold: 1000, Unit: "ms",
		},
		"lag: 3600 s > 999 ms":             {Signal: "lag", State: Measured, Value: 3.6e6, Threshold: 999, Unit: "ms"},
		"lag: 999 ms <= 1 s":               {Signal: "lag", State: Measured, Value: 999.4, Threshold: 1000, Unit: "ms"},
		"lag: 1 s <= 1 s":                  {Signal: "lag", State: Measured, Value: 1000, Threshold: 1000, Unit: "ms"},
		"lag: 1049 ms > 1000 ms":           {Signal: "lag", State: Measured, Value: 1049, Threshold: 1000, Unit: "ms"},
		"probe: 1.2 ms > 0.8 ms":           {Signal: "probe", State: Measured, Value: 1.2, Threshold: 0.8, Unit: "ms"},
		"waits: 0 <= 5":                    {Signal: "waits", State: Measured, Value: 0.00002, Threshold: 5},
		"threads_running: 12 <= 64":        {Signal: "threads_running", State: Measured, Value: 12, Threshold: 64},
		"flag_file: /x exists":             {Signal: "flag_file", State: Holds, Detail: "/x exists"},
		"lag of db2: unknown, no route":    {Signal: "lag", Source: "db2", State: Unknown, Detail: "no route"},
		"latency: not seen, nobody writes": {Signal: "latency", State: NotSeen, Detail: "nobody writes"},
		"history_length: 12 v. > 10 v.": {
			Signal: "history_length", State: Measured, Value: 12, Threshold: 10, Unit: "v.",
		},
	} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestTurns: two ask at a time, and those that hang keep the others waiting for a moment only.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asking, most atomic.Int64
		var all []Signal
		for range 4 {
			all = append(all, made{"hangs", func(ctx context.Context) ([]Reading, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}})
		}
		for range 8 {
			all = append(all, made{"calm", func(ctx context.Context) ([]Reading, error) {
				most.Store(max(most.Load(), asking.Add(1)))
				time.Sleep(10 * time.Millisecond)
				asking.Add(-1)
				return calm.Read(ctx, Look{})
			}})
		}

		w := NewWatch(inTurn(all...)...)
		for range 20 {
			w.Ask(t.Context(), Look{})
			time.Sleep(500 * time.Millisecond)
			for _, r := range w.Readings() {
				if r.Signal == "calm" && (r.State != Measured || time.Since(r.At) > time.Second) {
					t.Fatalf("beside others that hang it says %v, %v ago", r, time.Since(r.At))
				}
			}
		}
		if most.Load() > AtATime {
			t.Errorf("%d ask at a time", most.Load())
		}
	})
}

// TestTally: an hour is remembered, and no longer.
func TestTally(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tally Tally
		r, other := Reading{Signal: "lag", Source: "a"}, Reading{Signal: "lag", Source: "b"}
		for range 36 {
			tally.Add(r, 10*time.Second)
			time.Sleep(10 * time.Second)
		}
		if share := tally.Share(r); math.Abs(share-0.1) > 1e-9 {
			t.Errorf("six minutes are %v of an hour", share)
		}
		if share := tally.Share(other); share != 0 {
			t.Errorf("another source has %v", share)
		}

		time.Sleep(57 * time.Minute)
		if share := tally.Share(r); share <= 0 || share >= 0.1 {
			t.Errorf("three minutes of them are left, which are %v", share)
		}
		time.Sleep(3 * time.Hour)
		if share := tally.Share(r); share != 0 {
			t.Errorf("hours later %v is left", share)
		}
	})
}
