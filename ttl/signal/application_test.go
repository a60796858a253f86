package signal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestWindow: a speed is over half a second, however often it is asked, and known with the second count.
func TestWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &window{}
		if _, known := w.per(1000); known {
			t.Error("one count is a speed")
		}
		count := 1000.0
		for range 50 {
			time.Sleep(100 * time.Millisecond)
			count++
			if got, known := w.per(count); !known || got > 10 {
				t.Fatalf("of ten a second it says %v, %v", got, known)
			}
		}
		if time.Sleep(100 * time.Millisecond); len(w.seen) > 6 {
			t.Errorf("it remembers %d counts", len(w.seen))
		}
		if got, _ := w.per(count + 10); got < fewPerSecond {
			t.Errorf("of ten at once it says %v", got)
		}
		if _, known := w.per(3); known {
			t.Error("a counter that has begun anew has a speed")
		}
		time.Sleep(2 * longest)
		if _, known := w.per(1e6); known {
			t.Error("what is long ago makes a speed")
		}
	})
}

// lost is a server that cannot be asked.
type lost struct{ Querier }

func (lost) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	db := sql.OpenDB(brokenConnector{})
	defer db.Close()
	return db.QueryRowContext(ctx, query, args...)
}

// TestApplicationInDoubt: a server that does not say who is at work may have somebody there.
func TestApplicationInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &Application{present: time.Now().Add(-time.Hour)}
		if a.Look(t.Context(), lost{}, true) {
			t.Error("one question without an answer is a doubt")
		}
		time.Sleep(fresh + time.Millisecond)
		if !a.Look(t.Context(), lost{}, true) {
			t.Error("without any answer nobody is at work")
		}
		if r := a.Reading(); r.State != Unknown || r.Detail != errLost.Error() {
			t.Errorf("it says %v", r)
		}
	})
}

var errLost = errors.New("no route")

type brokenConnector struct{}

func (brokenConnector) Connect(context.Context) (driver.Conn, error) { return nil, errLost }

func (brokenConnector) Driver() driver.Driver { return nil }
