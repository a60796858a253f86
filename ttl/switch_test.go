package ttl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// switches are all by which somebody keeps rows of a policy from being deleted.
func switches() map[string]func(context.Context, *fixture, catalog.Policy, string) error {
	return map[string]func(context.Context, *fixture, catalog.Policy, string) error{
		"ttl_job_enable": func(ctx context.Context, f *fixture, _ catalog.Policy, _ string) error {
			return f.Store.Set(ctx, "test", map[string]string{setting.JobEnable: "OFF"})
		},
		"TTL_ENABLE": func(ctx context.Context, f *fixture, p catalog.Policy, _ string) error {
			p.Rule.Enabled = false
			_, err := f.Store.Declare(ctx, catalog.Client{Account: "test"},
				catalog.Declaration{Table: p.Table, Rule: p.Rule})
			return err
		},
		"REMOVE TTL": func(ctx context.Context, f *fixture, p catalog.Policy, _ string) error {
			return f.Store.Remove(ctx, catalog.Client{Account: "test"}, p.Table)
		},
		"PAUSE TTL": func(ctx context.Context, f *fixture, _ catalog.Policy, _ string) error {
			return f.Store.Pause(ctx, "test", catalog.PauseAll, "", time.Time{})
		},
		"PAUSE TTL FOR": func(ctx context.Context, f *fixture, p catalog.Policy, _ string) error {
			return f.Store.Pause(ctx, "test", p.ID, "", time.Time{})
		},
		"CANCEL TTL JOB FOR": func(ctx context.Context, f *fixture, p catalog.Policy, _ string) error {
			_, err := f.Store.Cancel(ctx, "test", p.ID)
			return err
		},
		"disarmed": func(ctx context.Context, f *fixture, p catalog.Policy, _ string) error {
			return f.Store.Disarm(ctx, "test", p.ID, p.Version, "for the test")
		},
		"window": func(ctx context.Context, f *fixture, _ catalog.Policy, _ string) error {
			return f.Store.Set(ctx, "test", f.windowElsewhere())
		},
		"TTL_WINDOW": func(ctx context.Context, f *fixture, p catalog.Policy, _ string) error {
			w := f.windowElsewhere()
			p.Rule.Options = map[string]string{"TTL_WINDOW": w[setting.WindowStart][:5] + "-" +
				w[setting.WindowEnd][:5]}
			_, err := f.Store.Declare(ctx, catalog.Client{Account: "test"},
				catalog.Declaration{Table: p.Table, Rule: p.Rule})
			return err
		},
		"ttl_date_floor": func(ctx context.Context, f *fixture, _ catalog.Policy, _ string) error {
			return f.Store.Set(ctx, "test", map[string]string{setting.DateFloor: "2021-01-01"})
		},
		"a value that is not understood": func(ctx context.Context, f *fixture, _ catalog.Policy, _ string) error {
			return f.Store.Set(ctx, "test", map[string]string{setting.WindowStart: "at dusk"})
		},
		"stop file": func(_ context.Context, _ *fixture, _ catalog.Policy, stopFile string) error {
			return os.WriteFile(stopFile, nil, 0o600)
		},
		"stop file that nobody can look for": func(_ context.Context, _ *fixture, _ catalog.Policy, stopFile string) error {
			dir := filepath.Dir(stopFile)
			return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600))
		},
	}
}

// TestSwitchesHoldAtOnce turns every switch there is at the worst moment, when a batch of a running
// job is chosen and about to be sent: once the switch has answered no row goes any more, and what
// was counted is what went.
func TestSwitchesHoldAtOnce(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, turn := range switches() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.Fill("t", 20_000)
				p := f.DeclareEvery("t", "1h")
				stopFile := filepath.Join(t.TempDir(), "stop")
				var packets atomic.Int64
				var left atomic.Value
				stop := f.run(func(c *Config) {
					c.StopFile = stopFile
					c.beforePacket = func() {
						if packets.Add(1) != 3 {
							return
						}
						if err := turn(t.Context(), f, p, stopFile); err != nil {
							t.Error(err)
						}
						left.Store(f.Rows("t"))
					}
				})

				f.Wait("the switch to be turned", func() bool { return left.Load() != nil })
				f.Wait("a while", elapsed(aWhile))
				stop()

				now := f.Rows("t")
				if now != left.Load() {
					t.Errorf("%s rows when the switch had answered, %s later", left.Load(), now)
				}
				if now == "20000" || now == "10000" {
					t.Errorf("%s rows are left: the switch was not turned in the middle", now)
				}

				counted := f.Text("SELECT (SELECT COALESCE(SUM(deleted), 0) FROM " + f.Schema +
					"_c.task) + (SELECT COALESCE(SUM(deleted), 0) FROM " + f.Schema + "_c.job_history)")
				if gone := f.Text("SELECT 20000 - " + now); counted != gone {
					t.Errorf("%s rows are counted as deleted, %s are gone", counted, gone)
				}
			})
		}
	})
}

// windowElsewhere is a window of an hour that is closed now, by the server's clock, and at the noon of
// a test's moment.
func (f *fixture) windowElsewhere() map[string]string {
	const clock = "SELECT DATE_FORMAT(UTC_TIMESTAMP() + INTERVAL %d HOUR, '%%H:%%i +0000')"
	from := f.Number("SELECT IF(HOUR(UTC_TIMESTAMP()) IN (8, 9, 10), 5, 2)")
	return map[string]string{
		setting.WindowStart: f.Text(fmt.Sprintf(clock, from)), setting.WindowEnd: f.Text(fmt.Sprintf(clock, from+1)),
	}
}

// TestSettingsHoldAtOnce: once a setting was changed, a node that has not heard of it starts no job
// and gets no task, and none of its batches goes. A window that was closed a moment before an
// approval stays closed for the job that this lets go.
func TestSettingsHoldAtOnce(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 5000)
		f.set(setting.BrakePercent, "0")
		p := f.DeclareEvery("t", "1h")

		before, err := f.Store.Settings(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		if err := f.Store.Set(t.Context(), "test", f.windowElsewhere()); err != nil {
			t.Fatal(err)
		}

		n := catalog.NewJob{Policy: p, Cutoff: time.Now(), Tasks: []catalog.TaskRange{{}}, Settings: before.Revision}
		if _, err := f.Store.CreateJob(t.Context(), n); !catalog.Overtaken(err) {
			t.Errorf("a job planned by the settings before: got %v, want ErrStopped", err)
		}

		n.Settings, n.State, n.Reason = before.Revision+1, catalog.JobNeedsApproval, "test"
		n.CutoffLiteral, n.FloorLiteral = ttltest.Cutoff, ttltest.Floor
		due := uint64(2500)

		n.Facts = catalog.JobFacts{Plan: "range", EstimatedRows: &due}
		if _, err := f.Store.CreateJob(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Store.Consent(t.Context(), "test", p.ID, p.Version, catalog.Consent{}); err != nil {
			t.Fatal(err)
		}

		_, err = f.Store.ClaimTask(t.Context(), catalog.Claim{Settings: before.Revision})
		if !errors.Is(err, catalog.ErrNoTask) {
			t.Errorf("a task for the settings before: got %v, want ErrNoTask", err)
		}

		defer f.run(nil)()

		f.Wait("the job to wait for its window", func() bool {
			return f.Text("SELECT COALESCE(MAX(state), '') FROM "+f.Schema+"_c.job") == "waiting for window"
		})
		if left := f.Rows("t"); left != "5000" {
			t.Errorf("%s rows are left, want all", left)
		}
		if err := f.Store.Set(t.Context(), "test",
			map[string]string{setting.WindowStart: setting.Unset, setting.WindowEnd: setting.Unset}); err != nil {
			t.Fatal(err)
		}

		f.Wait("the expired rows to go", func() bool { return f.Rows("t") == "2500" })
	})
}

// TestWorkersLookAtTheWindow: a window that closes between the tick that lets a job go on and the
// worker that takes its task is seen by the worker.
func TestWorkersLookAtTheWindow(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		m := f.at(utc("05-10 12:00:00"))
		m.declare("UTC", "1h", nil)

		m.mustTick()
		window := map[string]string{setting.WindowStart: "20:00 +0000", setting.WindowEnd: "21:00 +0000"}
		if err := m.engine.store.Set(t.Context(), "test", window); err != nil {
			t.Fatal(err)
		}
		if err := m.engine.readLimits(t.Context()); err != nil {
			t.Fatal(err)
		}

		m.workUntilCalled(t.Context())
		if left, waits := f.Rows("t"), f.waits(); left != "100" || !strings.HasPrefix(waits, "waiting for window: ") {
			t.Errorf("got %s rows left, and the job %s; want all 100, and it to wait for its window", left, waits)
		}
	})
}

// TestRuleOfAnotherVersion: a rule with an option that this version does not know deletes nothing,
// not even for a job that has begun, and the job says why. Once it is understood, the job goes on.
func TestRuleOfAnotherVersion(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		m := f.at(utc("05-10 12:00:00"))
		m.declare("UTC", "1h", nil)

		tick := func() {
			t.Helper()
			m.known.forget()
			m.mustTick()
		}

		tick()
		f.Exec(f.In("UPDATE {t}_c.policy SET options = JSON_OBJECT('TTL_SPARE', '1')"))
		m.workUntilCalled(t.Context())
		if left := f.Rows("t"); left != "100" {
			t.Errorf("got %s rows left by a rule that nobody has understood, want all 100", left)
		}

		tick()
		why := "does not understand the rule, which another version may have written: option TTL_SPARE is unknown"
		if waits := f.waits(); !strings.Contains(waits, why) {
			t.Errorf("got a job that %s, want it to say what is not understood", waits)
		}

		f.Exec(f.In("UPDATE {t}_c.policy SET options = JSON_OBJECT()"))
		m.settingsAt = m.pulse.Now.Add(time.Minute) // as if they had changed: then a job that is new is looked at, too
		tick()
		if waits := f.waits(); !strings.HasPrefix(waits, "running") {
			t.Errorf("got a job that %s under a rule that is understood", waits)
		}
	})
}

// TestDisabledStartsNothing: a node that has not heard of ttl_job_enable=OFF yet can not start a
// job any more.
func TestDisabledStartsNothing(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		p := f.Declare("t")
		f.set(setting.JobEnable, "OFF")
		if _, err := f.Store.CreateJob(t.Context(),
			catalog.NewJob{Policy: p, Cutoff: time.Now(), Tasks: []catalog.TaskRange{{}}}); !catalog.Overtaken(err) {
			t.Errorf("got %v, want ErrStopped", err)
		}
		f.set(setting.JobEnable, "ON")
		defer f.run(nil)()
		f.Wait("the expired rows to go", func() bool { return f.Rows("t") == "50" })
	})
}

// TestStopIsLogged: whoever touches the stop file reads in the log that it was seen, once, and that
// it is gone.
func TestStopIsLogged(t *testing.T) {
	t.Parallel()
	stopFile := filepath.Join(t.TempDir(), "stop")
	var log strings.Builder
	e := &Engine{
		cfg: Config{StopFile: stopFile}, log: slog.New(slog.NewTextHandler(&log, nil)),
		rates: pace.NewRates(nil), duty: pace.NewDuty(nil),
	}
	e.limits.Store(&limits{enabled: true})
	e.beaten()

	var before catalog.Stop
	look := func() {
		now, why := e.standing()
		e.logStop(t.Context(), before, now, why)
		before = now
	}

	look()
	if err := os.WriteFile(stopFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	look()
	look()
	if before != catalog.StopFile {
		t.Errorf("with the stop file: got %q", before)
	}
	if err := os.Remove(stopFile); err != nil {
		t.Fatal(err)
	}

	look()
	look()

	got := log.String()
	if before != "" || strings.Count(got, "\n") != 2 || !strings.Contains(got, "this node deletes nothing") ||
		!strings.Contains(got, stopFile) || !strings.Contains(got, "this node deletes again") {
		t.Errorf("got %s", got)
	}
}

// TestStopFileInDoubt: whoever is kept from looking for the stop file, be it by a directory that may not be
// entered or by a broken disk, deletes nothing.
func TestStopFileInDoubt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, doubted := range map[string]bool{
		"":                               false,
		filepath.Join(dir, "stop"):       false,
		filepath.Join(dir, "a", "stop"):  false, // nobody can have created that
		filepath.Join(file, "stop"):      true,
		strings.Repeat("long", 10_000):   true,
		"a\x00name that no system knows": true,
	} {
		why := stopFile(name)
		if (why != "") != doubted || doubted && !strings.HasPrefix(why, "nobody can tell whether the stop file exists: ") {
			t.Errorf("%.50q: got %.100q, want a doubt: %t", name, why, doubted)
		}
	}
}

// TestSettingThatIsNotUnderstood: a value that another version has stored may be a limit, so a node
// that cannot read it deletes nothing, says so, and goes on once the value is one that it can read.
func TestSettingThatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		f.Declare("t")
		f.set(setting.WindowStart, "at dusk")
		defer f.run(nil)()

		f.Wait("the node to say what stops it", func() bool {
			nodes, err := f.Store.Nodes(t.Context())
			return err == nil && len(nodes) == 1 && nodes[0].Stop == catalog.StopSetting &&
				strings.Contains(nodes[0].Status, setting.WindowStart+" has the value 'at dusk'")
		})
		f.Wait("a while", elapsed(aWhile))
		if left := f.Rows("t"); left != "100" {
			t.Fatalf("%s rows are left beside a window that is not understood", left)
		}

		f.set(setting.WindowStart, setting.Unset)
		f.Wait("the expired rows to go", func() bool { return f.Rows("t") == "50" })
	})
}

// TestStopFileEndsByItself: when the file is gone, work goes on where it was.
func TestStopFileEndsByItself(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		f.Declare("t")

		stopFile := filepath.Join(t.TempDir(), "stop")
		if err := os.WriteFile(stopFile, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		defer f.run(func(c *Config) { c.StopFile = stopFile })()

		f.Wait("a while", elapsed(aWhile))
		if left := f.Rows("t"); left != "100" {
			t.Fatalf("%s rows are left while the stop file exists", left)
		}

		nodes, err := f.Store.Nodes(t.Context())
		if err != nil || len(nodes) != 1 || nodes[0].Stop != catalog.StopFile ||
			!strings.Contains(nodes[0].Status, stopFile) {
			t.Errorf("the nodes: got %+v, %v", nodes, err)
		}
		if err := os.Remove(stopFile); err != nil {
			t.Fatal(err)
		}

		f.Wait("the expired rows to go", func() bool { return f.Rows("t") == "50" })
	})
}
