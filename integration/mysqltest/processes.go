package mysqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Processes are the connections of a server for which a condition on information_schema.PROCESSLIST holds.
func Processes(tb testing.TB, db *sql.DB, condition string, args ...any) []uint64 {
	tb.Helper()
	ids, err := Again(Unreadable, func() ([]uint64, error) { return processes(tb, db, condition, args...) })
	if err != nil {
		tb.Fatalf("connections of which %s: %v", condition, err)
	}
	return ids
}

// Unreadable reports whether MySQL shows nobody's process, because it cannot convert what somebody is
// running just now: other tests have statements in odd character sets.
func Unreadable(err error) bool {
	const unreadableText = 3854
	refused, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && refused.Number == unreadableText
}

// Again asks until the answer is no error that passes, or a test's patience is at its end.
func Again[T any](passes func(error) bool, ask func() (T, error)) (T, error) {
	for late := time.Now().Add(Patience); ; time.Sleep(time.Millisecond) {
		answer, err := ask()
		if !passes(err) || time.Now().After(late) {
			return answer, err
		}
	}
}

// Runner is what runs statements: *sql.DB, *sql.Conn and *sql.Tx.
type Runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Insist runs a statement until it has not waited for a lock in vain. MariaDB has each DROP and TRUNCATE wait for where
// InnoDB keeps its statistics, only as long as for any row, which in a session of a catalog is two seconds; and tests
// drop a lot beside each other.
func Insist(ctx context.Context, by Runner, statement string, args ...any) error {
	_, err := Again(waitedInVain, func() (sql.Result, error) { return by.ExecContext(ctx, statement, args...) })
	return err
}

func waitedInVain(err error) bool {
	const lockWaitTimeout = 1205
	refused, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && refused.Number == lockWaitTimeout
}

// Busy reports whether a statement through the proxy was answered that its time was over before the catalog had been
// asked or written: nothing was changed, and it may be sent again.
func Busy(err error) bool {
	return err != nil && strings.HasSuffix(err.Error(), "the server is busy; try again")
}

// RunOddText runs a statement of so many seconds whose text MySQL cannot convert for whoever asks who is connected. It
// returns its connection, and what says how it has ended.
func RunOddText(tb testing.TB, db *sql.DB, seconds int) (id uint64, said <-chan error) {
	tb.Helper()
	odd, err := db.Conn(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if err := odd.QueryRowContext(tb.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		tb.Fatal(err)
	}
	if _, err := odd.ExecContext(tb.Context(), "SET character_set_client = cp1250"); err != nil {
		tb.Fatal(err)
	}

	ended := make(chan error, 1)
	go func() {
		defer odd.Close()
		_, err := odd.ExecContext(tb.Context(), fmt.Sprintf("DO SLEEP(%d) /* \x83 */", seconds))
		ended <- err
	}()
	return id, ended
}

func processes(tb testing.TB, db *sql.DB, condition string, args ...any) (ids []uint64, err error) {
	tb.Helper()
	const all = "SELECT ID FROM information_schema.PROCESSLIST WHERE "
	rows, err := db.QueryContext(tb.Context(), all+condition, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id uint64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
