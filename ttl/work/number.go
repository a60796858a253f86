package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// tableNumber reads what this session's locks show of the only table that it uses.
const tableNumber = `SELECT COUNT(*), COUNT(subpartition_name),
 COALESCE(MAX(CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(engine_lock_id, ':', -2), ':', 1) AS UNSIGNED)), 0)
 FROM performance_schema.data_locks WHERE thread_id = PS_CURRENT_THREAD_ID() AND lock_type = 'TABLE'`

// TableNumber is the number by which InnoDB itself, on MySQL, knows the table or partition that a statement
// touches (see plan's Statements.Touch). IMPORT TABLESPACE changes it, and nothing else that can be read
// without waiting for other tables. It is 0 where nobody tells: the account may not see locks, the server
// does not show them, or there are several tables in one.
func (s *Session) TableNumber(ctx context.Context, touch string) (number uint64, err error) {
	defer s.rollback(ctx) // it closes a session that was lost, too
	if _, err := s.link().ExecContext(ctx, "START TRANSACTION"); err != nil {
		return 0, fmt.Errorf("begin: %w", err)
	}

	// That somebody else has locked the row does not matter: the lock on the table is there by then.
	switch _, err := s.link().ExecContext(ctx, touch); {
	case refusedWith(err, ddl.CodeTableDenied, ddl.CodeColumnDenied, ddl.CodeSchemaDenied):
		return 0, nil // and may not delete, either
	case err != nil && !refusedWith(err, ddl.CodeLockNowait):
		return 0, fmt.Errorf("touch: %w", err)
	}

	var locks, parts int
	err = s.QueryRowContext(ctx, tableNumber).Scan(&locks, &parts, &number)
	if _, answered := errors.AsType[*mysql.MySQLError](err); answered && !passes(err) {
		return 0, nil // no right, or no performance_schema
	}
	if err != nil {
		return 0, fmt.Errorf("read locks: %w", err)
	}
	if locks != 1 || parts > 0 {
		return 0, nil
	}
	return number, nil
}

func refusedWith(err error, codes ...uint16) bool {
	my, answered := errors.AsType[*mysql.MySQLError](err)
	for _, code := range codes {
		if answered && my.Number == code {
			return true
		}
	}
	return false
}
