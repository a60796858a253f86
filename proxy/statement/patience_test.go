package statement

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// A catalog that hangs lets one statement wait, and from then on one every few seconds, and not for
// long.
func TestPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p patience
		began := time.Now()
		asked := 0
		hanging := func(ctx context.Context) error { asked++; <-ctx.Done(); return ctx.Err() }
		for range 1000 {
			if err := p.ask(t.Context(), hanging); err == nil {
				t.Fatal("no error")
			}
			time.Sleep(10 * time.Millisecond) // what the statement itself takes
		}
		if took := time.Since(began) - 10*time.Second; took > askWait+2*retryWait || asked < 2 {
			t.Errorf("1,000 statements waited for %v, and asked %d times", took, asked)
		}

		time.Sleep(restWait)
		for range 2 {
			if err := p.ask(t.Context(), func(context.Context) error { return nil }); err != nil {
				t.Error(err)
			}
		}
		broken := errors.New("no connection") // which is said at once
		for range 2 {
			if err := p.ask(t.Context(), func(context.Context) error { return broken }); !errors.Is(err, broken) {
				t.Error(err)
			}
		}
	})
}

// While the catalog hangs, statements that are not about TTL go on, and those about it say why they
// cannot.
func TestHungCatalogSlowsNobody(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.handler.patience.first = time.Second
		t.exec("CREATE TABLE kept (at DATETIME) TTL = at + INTERVAL 1 DAY")
		unlock := t.lockCatalog("policy")

		const tables = 25
		var added time.Duration // to what the server takes, which is its own affair
		for range tables {
			for _, statement := range []string{"CREATE TABLE %s (id INT)", "ALTER TABLE %s ADD c INT", "DROP TABLE %s"} {
				began := time.Now()
				if _, err := t.direct.ExecContext(t.Context(), fmt.Sprintf(statement, "unseen")); err != nil {
					t.Fatal(err)
				}
				seen := time.Now()
				t.exec(fmt.Sprintf(statement, "plain"))
				added += time.Since(seen) - seen.Sub(began)
			}
		}
		if added > 25*time.Second { // 75 s if each waited
			t.Errorf("%d statements waited %v for the catalog", 3*tables, added)
		}

		unlock()
		t.isAskedAgain()
		t.exec("ALTER TABLE kept RENAME moved")
		if t.policy("moved") == "" || strings.Contains(t.policy("kept"), "INTERVAL") {
			t.Errorf("the catalog is back, and a rename is not followed: %q, %q", t.policy("kept"), t.policy("moved"))
		}
	})
}

// isAskedAgain waits until somebody has found out that the catalog is back; from then on it is given its time.
func (t *theatre) isAskedAgain() {
	t.Helper()
	p := &t.handler.patience
	for deadline := time.Now().Add(mysqltest.Patience); ; {
		p.mu.Lock()
		p.until = time.Time{} // restWait later
		p.mu.Unlock()
		t.exec("DROP TABLE IF EXISTS plain")

		p.mu.Lock()
		back := !p.hangs
		if back {
			p.first = 0
		}
		p.mu.Unlock()
		if back {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the catalog is back, and nobody asks it")
		}
	}
}
