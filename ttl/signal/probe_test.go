package signal

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// TestProbe: a server that is as usual is left alone, however noisy, and one that is slow, or stands
// still now and then, is noticed within a second.
func TestProbe(t *testing.T) {
	t.Parallel()
	steady := func(ms float64) func(*rand.Rand) float64 { return func(*rand.Rand) float64 { return ms } }
	noisy := func(r *rand.Rand) float64 { return 2 + r.ExpFloat64()/4 }
	for name, c := range map[string]struct {
		rest, work func(*rand.Rand) float64 // milliseconds
		noticed    bool
	}{
		"quick":   {steady(0.2), steady(0.5), false},
		"noisy":   {noisy, noisy, false},
		"slow":    {steady(2), steady(4), true},
		"stalled": {steady(2), func(r *rand.Rand) float64 { return 2 + 98*float64(r.IntN(2)) }, true},
		"hanging": {steady(2), steady(3600e3), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				takes, random := c.rest, rand.New(rand.NewPCG(1, 2))
				p := NewProbe(func(ctx context.Context) (time.Duration, error) {
					return spend(ctx, time.Duration(takes(random)*float64(time.Millisecond)))
				})
				p.advice = silent
				look := func(resting bool) Reading {
					began := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					all, err := p.Read(ctx, Look{Server: mute{}, Settings: setting.Defaults(), Resting: resting})
					if err != nil || len(all) != 1 {
						t.Fatalf("it says %v (%v)", all, err)
					}
					if took := time.Since(began); took > 500*time.Millisecond && name != "hanging" {
						t.Errorf("a look takes %v, until after the next one", took)
					}
					time.Sleep(max(0, 500*time.Millisecond-time.Since(began)))
					return all[0]
				}

				for range usualAfter {
					look(true)
				}
				if r := look(false); r.State != Measured || r.Pressure() > 1 {
					t.Errorf("at rest it says %v", r)
				}

				takes = c.work
				noticed := 0
				for range 20 {
					if r := look(false); r.Pressure() > 1 {
						noticed++
					}
				}
				if c.noticed && noticed < 19 || !c.noticed && noticed > 0 {
					t.Errorf("%d of 20 looks notice it", noticed)
				}
			})
		})
	}
}

// TestProbeLearnsAtRest: however long the engine's own harm lasts, it never becomes usual; and while
// nobody else is at work there is no harm.
func TestProbeLearnsAtRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		takes, alone := 2*time.Millisecond, false
		p := NewProbe(func(context.Context) (time.Duration, error) { return takes, nil })
		look := func(resting bool) Reading {
			all, err := p.Read(t.Context(), Look{Server: mute{}, Settings: setting.Defaults(), Resting: resting, Alone: alone})
			if err != nil || len(all) != 1 {
				t.Fatalf("it says %v (%v)", all, err)
			}
			return all[0]
		}
		for range usualAfter {
			look(true)
		}

		takes = 10 * time.Millisecond
		for range 2000 {
			look(false)
		}
		if r := look(false); r.Pressure() < 3 {
			t.Errorf("after a quarter of an hour of harm it says %v", r)
		}
		if slow, made := p.Slow(); made < 2000*probesEach || slow != made {
			t.Errorf("%d of %d changes were slow", slow, made)
		}
		takes = 2 * time.Millisecond
		look(false)
		if slow, made := p.Slow(); made != probesEach || slow != 0 {
			t.Errorf("%d of %d changes that took as long as usual were slow", slow, made)
		}

		alone = true
		if r := look(false); r.State != NotSeen || r.Pressure() != 0 {
			t.Errorf("while nobody else is there it says %v", r)
		}
	})
}

// TestProbeThatDoesNotEnd: a change that has not ended after a second takes too long, whatever is usual and whatever
// is allowed, and never becomes usual.
func TestProbeThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	for _, usually := range []time.Duration{2 * time.Millisecond, 300 * time.Millisecond, 800 * time.Millisecond} {
		for _, percent := range []string{"150", "100000"} {
			t.Run(usually.String()+" "+percent, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					takes, settings := time.Hour, setting.Values{setting.ThrottleProbe: percent}
					p := NewProbe(func(ctx context.Context) (time.Duration, error) { return spend(ctx, takes) })
					p.advice = silent
					look := func(times int, resting bool) (r Reading) {
						for range times {
							ctx, cancel := context.WithTimeout(t.Context(), patience)
							defer cancel()
							all, err := p.Read(ctx, Look{Server: mute{}, Settings: settings, Resting: resting})
							if err != nil || len(all) != 1 {
								t.Fatalf("it says %v (%v)", all, err)
							}
							r = all[0]
						}
						return r
					}

					if r := look(2*usualAfter, true); r.State != NotSeen {
						t.Errorf("before a change has ended it says %v", r)
					}
					takes = usually
					look(10, true)
					if r := look(1, false); r.State != Measured || r.Pressure() > 1 {
						t.Errorf("as usual it says %v", r)
					}
					takes = time.Hour
					if r := look(4, false); r.Pressure() <= 1 {
						t.Errorf("while no change ends it says %v", r)
					}
				})
			})
		}
	}
}

// mute is a server that is not asked.
type mute struct{ Querier }

func silent(context.Context, Querier) string { return "" }

// spend lets a change take its time.
func spend(ctx context.Context, d time.Duration) (time.Duration, error) {
	began := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return time.Since(began), ctx.Err()
	case <-timer.C:
		return d, nil
	}
}

// TestProbeWithoutAnswer: a change that fails says nothing about time; before anything is known of
// the server, nothing is judged; switched off, nothing is changed.
func TestProbeWithoutAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		p := NewProbe(func(context.Context) (time.Duration, error) {
			calls++
			return 0, errors.New("no route")
		})
		if all, err := p.Read(t.Context(), Look{Settings: setting.Defaults(), Resting: true}); err == nil || calls != 1 {
			t.Errorf("it says %v after %d changes", all, calls)
		}

		crowded := NewProbe(func(context.Context) (time.Duration, error) { return 0, context.DeadlineExceeded })
		if all, err := crowded.Read(t.Context(), Look{Settings: setting.Defaults(), Resting: true}); err == nil {
			t.Errorf("of a change that was never sent it says %v", all)
		}

		off := setting.Values{setting.ThrottleProbe: "0"}
		if all, err := p.Read(t.Context(), Look{Settings: off}); err != nil || len(all) != 0 || calls != 1 {
			t.Errorf("switched off, it says %v (%v) after %d changes", all, err, calls)
		}

		p = NewProbe(func(context.Context) (time.Duration, error) { return time.Minute, nil })
		all, err := p.Read(t.Context(), Look{Settings: setting.Defaults()})
		if err != nil || len(all) != 1 || all[0].State != NotSeen {
			t.Errorf("before anything is known it says %v (%v)", all, err)
		}
	})
}

// TestUsual: what is usual is what is seen at rest, follows slowly, and no faster for being looked at
// more often.
func TestUsual(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seldom, often usual
		for range usualAfter {
			seldom.learn(1)
			often.learn(1)
			time.Sleep(500 * time.Millisecond)
		}
		if !seldom.known() || seldom.mean != 1 {
			t.Errorf("after %d looks it is %+v", usualAfter, seldom)
		}

		for i := range 200 {
			often.learn(3)
			if i%20 == 19 {
				seldom.learn(3)
			}
			time.Sleep(500 * time.Millisecond)
		}
		for _, u := range []usual{seldom, often} {
			if u.mean < 2 || u.mean > 2.5 {
				t.Errorf("after %v of something else it is %.2f", usualMemory, u.mean)
			}
		}
	})
}

// TestUsualAfterALongTime: a look after ten minutes in which nothing could be learnt says no more than one at rest.
func TestUsualAfterALongTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var u usual
		for range 100 {
			u.learn(1)
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(10 * time.Minute)
		if u.learn(11); u.mean > 2 {
			t.Errorf("after one look it is %.2f", u.mean)
		}
	})
}
