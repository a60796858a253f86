package work

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// underLocks are statements, the last of them DDLs that depend on a condition (goIf, ifHeld), in a packet that
// locks tables first and waits for them no longer than that. If the sender is frozen and the packet ends
// by an error, the server ends the session, and with it the locks, after a second.
func underLocks(wait time.Duration, locked []string, statements ...string) []string {
	return slices.Concat([]string{
		fmt.Sprintf("SET SESSION lock_wait_timeout = %d, wait_timeout = 1", int(math.Ceil(wait.Seconds()))),
		"LOCK TABLES " + strings.Join(locked, " WRITE, ") + " WRITE",
	}, statements, []string{"UNLOCK TABLES", "DEALLOCATE PREPARE ttlproxy_leave"})
}

// goIf remembers whether a condition holds.
func goIf(condition string) string { return "SET @ttlproxy_go = " + condition }

// ifHeld carries out a DDL, which cannot carry a condition itself, if that of goIf has held.
func ifHeld(statement string) []string {
	return []string{
		"SET @ttlproxy_leave = IF(@ttlproxy_go, " + tables.Literal(statement) + ", 'DO 0')",
		"PREPARE ttlproxy_leave FROM @ttlproxy_leave",
		"EXECUTE ttlproxy_leave",
	}
}

// unlock lets go of the tables that a packet had locked when it failed; if that fails, the server does it.
func (s *Session) unlock(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if s.conn == nil {
		return
	}
	if _, err := s.conn.ExecContext(ctx, "UNLOCK TABLES"); err != nil {
		s.Close()
	}
}

// inUse reports whether the packet was not carried out because somebody uses a table.
func inUse(err error) bool {
	my, answered := errors.AsType[*mysql.MySQLError](err)
	return answered && my.Number == ddl.CodeLockWait
}

// tableID is InnoDB's id of a table; 0 if there is none of that name.
func (s *Session) tableID(ctx context.Context, from SideStore, t catalog.Table) (id uint64, err error) {
	if err := s.QueryRowContext(ctx, "SELECT "+from.InnoDBID(t)).Scan(&id); err != nil {
		return 0, fmt.Errorf("read the id of %s: %w", t, err)
	}
	return id, nil
}
