package ttl

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// declare makes a policy on table t as the proxy would.
func (f *fixture) declare(table string) catalog.Policy {
	f.t.Helper()
	p, err := f.store.Declare(f.t.Context(), catalog.Client{Account: "test"}, catalog.Declaration{
		Table: catalog.Table{Schema: f.schema, Name: table},
		Rule:  catalog.Rule{Column: "made", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1s", TimeZone: "UTC", ZoneSource: catalog.ZoneFromTable},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// run starts an engine and returns how to stop it.
func (f *fixture) run(change func(*Config)) (stop func()) {
	f.t.Helper()
	cfg := Config{Backend: f.cfg, Node: catalog.Node{Name: "test"}, Tick: 100 * time.Millisecond}
	if change != nil {
		change(&cfg)
	}
	e, err := New(cfg, f.store, slog.New(slog.NewTextHandler(f.t.Output(), nil)), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	stop = func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				f.t.Error(err)
			}
		case <-time.After(20 * time.Second):
			f.t.Error("the engine does not stop")
		}
	}
	return stop
}

func TestEngineDeletesWhatIsDue(t *testing.T) {
	eachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.fill("t", 3000)
		f.declare("t")
		defer f.run(nil)()
		f.wait("the expired rows to go", func() bool { return f.rows("t") == "1500" })
		f.wait("the job to end", func() bool {
			return f.text("SELECT COUNT(*) FROM "+f.schema+"_c.job_history WHERE state = 'finished' AND deleted = 1500") == "1"
		})
		if left := f.text("SELECT COUNT(*) FROM " + f.schema + ".t WHERE made < NOW()"); left != "0" {
			t.Errorf("%s expired rows are left", left)
		}
	})
}
