package signal

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestBatches: what is shown is the time of the batches since the last look, for a minute after the last of them.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent int64
		var took time.Duration
		b := &Batches{Sent: func() (int64, time.Duration) { return sent, took }}
		look := func(batches int64, each, wantOver time.Duration) {
			t.Helper()
			time.Sleep(time.Second)
			sent, took = sent+batches, took+time.Duration(batches)*each
			if over := b.Look(50 * time.Millisecond); over != wantOver {
				t.Errorf("%d batches of %v were too long for %v, want %v", batches, each, over, wantOver)
			}
		}
		shows := func(state State, value float64, age time.Duration) {
			t.Helper()
			r := b.Reading()
			if r.Signal != "batch_time" || r.State != state || r.Value != value || time.Since(r.At) != age ||
				state == Measured && (r.Threshold != 50 || r.Unit != "ms") {
				t.Errorf("got %+v, want %s %v of %v ago", r, state, value, age)
			}
		}

		look(0, 0, 0)
		shows(NotSeen, 0, 0)
		look(4, 50*time.Millisecond, 0)
		shows(Measured, 50, 0)
		look(2, 70*time.Millisecond, time.Second)
		shows(Measured, 70, 0)
		look(0, 0, 0)
		shows(Measured, 70, time.Second)
		time.Sleep(batchesFor)
		shows(NotSeen, 0, batchesFor)
	})
}
