package proxy

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// So many are inside at a time, whoever gives up or takes long.
func TestTurnstile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most, all = 3, 30
		var turns turnstile
		var inside, entered atomic.Int64
		var g sync.WaitGroup
		for i := range all {
			g.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				if i%10 == 0 {
					ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
				}
				defer cancel()

				leave, err := turns.enter(ctx, most)
				if err != nil {
					return
				}
				defer leave()

				entered.Add(1)
				if n := inside.Add(1); n > most {
					t.Errorf("%d are inside", n)
				}
				time.Sleep(10 * time.Millisecond)
				inside.Add(-1)
			})
		}
		g.Wait()
		if n := entered.Load(); n < all*9/10 {
			t.Errorf("%d have come in", n)
		}
		if turns.inside != 0 || len(turns.queue) != 0 {
			t.Errorf("%d are inside, %d wait", turns.inside, len(turns.queue))
		}

		for range 2 * most { // who takes long does not keep others out
			if _, err := turns.enter(t.Context(), most); err != nil {
				t.Error(err)
			}
		}
	})
}

// Who waits for a turn in vain is told that there are too many.
func TestTooManyLogins(t *testing.T) {
	t.Parallel()
	p := startEdge(t, BackendsConfig{Addresses: []string{deadAddress(t)}},
		Config{MaxLogins: 1, LoginTimeout: 50 * time.Millisecond})
	p.logins.mu.Lock()
	p.logins.inside = 1
	p.logins.mu.Unlock()
	play(t, p.address, wiretest.Receive(expectError(ddl.CodeTooManyConnections)), wiretest.ExpectClose())
}
