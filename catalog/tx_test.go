package catalog

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"
)

// TestLateTransactionsSaySo: whoever waits for a transaction is told that its time was over, and not what database/sql
// has done because of that.
func TestLateTransactionsSaySo(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		taken := func(tx *sql.Tx) (err error) {
			for !errors.Is(err, sql.ErrTxDone) {
				_, err = tx.ExecContext(t.Context(), "DO 0")
			}
			return err
		}
		for name, fn := range map[string]func(*sql.Tx) error{
			"at a statement": taken,
			"at the end":     func(tx *sql.Tx) error { _ = taken(tx); return nil },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := b.tx(ctx, "look", fn); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sql.ErrTxDone) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
