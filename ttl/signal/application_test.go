package signal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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
		if !new(Application).Look(t.Context(), lost{}, true) {
			t.Error("before any answer nobody is at work")
		}
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

// breaks is a server of which asking breaks.
type breaks struct{ Querier }

func (breaks) QueryRowContext(context.Context, string, ...any) *sql.Row { panic("nil map") }

// TestApplicationThatBreaks: a look that panics is one without an answer, and the next one is made all the same.
func TestApplicationThatBreaks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &Application{present: time.Now().Add(-time.Hour)}
		if a.Look(t.Context(), breaks{}, false) {
			t.Error("one look that breaks is a doubt")
		}
		time.Sleep(fresh + time.Millisecond)
		if !a.Look(t.Context(), breaks{}, true) || !a.AtWork() {
			t.Error("although looking breaks nobody is at work")
		}
		if r := a.Reading(); r.State != Unknown || r.Detail != "it failed: nil map" {
			t.Errorf("it says %v", r)
		}
	})
}

// TestHardlyLookedAt: of a server on which a look takes long, or that is not glanced at, whoever is at work on a few
// connections is seen at every look, and who does little at none.
func TestHardlyLookedAt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		clients int
		every   time.Duration // each begins a statement
		atWork  bool
	}{
		{1, time.Millisecond, true},
		{2, 5 * time.Millisecond, true},
		{9, 60 * time.Millisecond, true},
		{9, 200 * time.Millisecond, true},
		{5, 90 * time.Millisecond, true},
		{1, 200 * time.Millisecond, false},
		{1, time.Second, false},
		{4, time.Second, false},
		{10, 2 * time.Second, false},
		{200, time.Minute, false},
	} {
		for _, between := range []time.Duration{20, 50, 200, 500, 700} {
			between *= time.Millisecond
			t.Run(fmt.Sprintf("%d every %v at %v", c.clients, c.every, between), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					server := sql.OpenDB(numbers{clients: c.clients, every: c.every, zero: time.Now()})
					defer server.Close()
					a := &Application{}
					irregular := rand.New(rand.NewPCG(1, 2)) // as servers are, or looks keep step with a client
					look := func() bool {
						time.Sleep(between + time.Duration(irregular.Int64N(int64(between/4))))
						return a.Look(t.Context(), server, true)
					}
					for began := time.Now(); time.Since(began) < 4*time.Second; {
						look()
					}
					for range 40 {
						if look() != c.atWork {
							t.Fatalf("it says %+v", a.Reading())
						}
					}
				})
			})
		}
	}
}

// TestWorkBegins: where nobody has looked for long others are at work until it can be known of as few as are somebody,
// and no longer.
func TestWorkBegins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		perSecond float64
		atWork    bool
	}{{0, false}, {10, false}, {30, true}, {500, true}} {
		t.Run(fmt.Sprint(c.perSecond), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := sql.OpenDB(counter{numbers: numbers{zero: time.Now()}, perSecond: c.perSecond})
				defer server.Close()
				a := &Application{}
				for range 3 {
					time.Sleep(2 * longest)
					for began := time.Now(); time.Since(began) < 3*workWindow; time.Sleep(20 * time.Millisecond) {
						want := c.atWork || time.Since(began) < workWindow
						if a.Look(t.Context(), server, false) != want {
							t.Fatalf("after %v it says %v", time.Since(began), a.Reading())
						}
					}
				}
			})
		})
	}
}

// counter is a MySQL that counts transactions of others, and is asked by somebody who had some of his own.
type counter struct {
	numbers
	perSecond float64
}

func (c counter) Connect(context.Context) (driver.Conn, error) { return c, nil }

func (c counter) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	if query != countTransactions {
		return &row{int64(0)}, nil
	}
	others := time.Since(c.zero).Seconds() * c.perSecond
	return &row{others, others + 100}, nil
}

// numbers is a MariaDB whose clients take turns, each as regular as a clock. The number of a statement is the
// microsecond in which it began.
type numbers struct {
	clients int
	every   time.Duration
	zero    time.Time
}

func (n numbers) Connect(context.Context) (driver.Conn, error) { return n, nil }

func (numbers) Driver() driver.Driver { return nil }

func (numbers) Prepare(string) (driver.Stmt, error) { return nil, driver.ErrSkip }

func (numbers) Begin() (driver.Tx, error) { return nil, driver.ErrSkip }

func (numbers) Close() error { return nil }

func (n numbers) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	switch query {
	case countNewest:
	case countInTheMiddle:
		return &row{int64(1)}, nil
	default: // performance_schema counts nothing
		return &row{int64(0), int64(0)}, nil
	}

	now := time.Since(n.zero)
	var others, ago int64
	for i := range n.clients {
		since := (now + n.every*time.Duration(i)/time.Duration(n.clients)) % n.every
		if began := now - since; began.Microseconds() > args[0].Value.(int64) {
			others, ago = others+1, ago+since.Milliseconds()
		}
	}
	return &row{now.Microseconds(), others, ago}, nil
}

// row is an answer of one row.
type row []driver.Value

func (r *row) Columns() []string { return make([]string, len(*r)) }

func (r *row) Close() error { return nil }

func (r *row) Next(to []driver.Value) error {
	if *r == nil {
		return io.EOF
	}
	copy(to, *r)
	*r = nil
	return nil
}

var errLost = errors.New("no route")

type brokenConnector struct{}

func (brokenConnector) Connect(context.Context) (driver.Conn, error) { return nil, errLost }

func (brokenConnector) Driver() driver.Driver { return nil }
