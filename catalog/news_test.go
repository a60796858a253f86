package catalog

import "testing"

// TestListen: whoever listens hears of every change of this process, and apart from others of runs that are asked
// for, until he stops.
func TestListen(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "t"))
		all, runs := make(chan struct{}, 1), make(chan struct{}, 1)
		stop := b.Listen(Listener{All: all, Runs: runs})
		heard := func(what string, change error, wantAll, wantRuns int) {
			t.Helper()
			if change != nil {
				t.Fatal(change)
			}
			if len(all) != wantAll || len(runs) != wantRuns {
				t.Errorf("%s is heard as %d changes and %d runs, want %d and %d", what, len(all), len(runs), wantAll, wantRuns)
			}
			for len(all)+len(runs) > 0 {
				select {
				case <-all:
				case <-runs:
				}
			}
		}
		request := func() error {
			_, err := b.RequestRun(t.Context(), "ann@%", p.ID)
			return err
		}

		heard("an event", b.Record(t.Context(), Event{Kind: EventEngine, Actor: "test"}), 1, 0)
		heard("a run", request(), 1, 1)
		stop()
		heard("a run after that", request(), 0, 0)
	})
}
