package statement

import (
	"context"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// What a server says about a session that has nothing to do, and about one that has.
func TestSessionIsAsleep(t *testing.T) {
	onStage(t, func(t *theatre) {
		conn, err := t.direct.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()

		var id uint32
		if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}

		h := &Handler{config: Config{DB: t.direct}}
		if h.Asleep(t.Context(), id) {
			t.Error("asleep at once")
		}

		for deadline := time.Now().Add(mysqltest.Patience); !h.Asleep(t.Context(), id); <-time.After(500 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("never asleep")
			}
		}

		busy := make(chan error, 1)
		go func() {
			_, err := conn.ExecContext(t.Context(), "DO SLEEP(7)")
			busy <- err
		}()
		for len(busy) == 0 {
			if h.Asleep(t.Context(), id) && len(busy) == 0 {
				t.Error("asleep at work")
			}
			<-time.After(500 * time.Millisecond)
		}
		if err := <-busy; err != nil {
			t.Error(err)
		}

		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		defer stop()
		if h.Asleep(ctx, id) {
			t.Error("asleep as soon as it has worked")
		}
	})
}
