package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// BlindError says that the service account may not read a table, or some of its columns: to that
// account it looks like one that is gone or was altered, whatever it is.
type BlindError struct{ Table Table }

// Error says what to do about it.
func (e *BlindError) Error() string {
	return fmt.Sprintf("the service account may not read %s: GRANT SELECT, DELETE ON %s.* to it (ttlproxy init prints "+
		"the statement)", e.Table, ddl.Quote(e.Table.Schema))
}

// sees returns a *BlindError for a table that the service account may not read. What cannot be read
// for another reason is what it seems to be: only those are told the reason who may read it.
func (s *Store) sees(ctx context.Context, t Table) error {
	err := s.briefly(ctx, func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, fmt.Sprintf(selectNothing, t))
		return err
	})
	if isServerError(err, ddl.CodeTableDenied, ddl.CodeColumnDenied, ddl.CodeSchemaDenied) {
		return &BlindError{t}
	}
	if _, told := errors.AsType[*mysql.MySQLError](err); told && !isServerError(err, ddl.CodeLockWait) {
		return nil
	}
	return err
}

// isGone reports whether a table is not there, to an account that may read it. It looks once more
// after it has made sure of that: the right may have been given since.
func (s *Store) isGone(ctx context.Context, t Table) (bool, error) {
	seen, err := s.Look(ctx, t)
	if err != nil || seen.Exists {
		return false, err
	}

	err = s.sees(ctx, t)
	if _, blind := errors.AsType[*BlindError](err); blind {
		return false, nil
	}
	if err != nil {
		return false, err
	}

	seen, err = s.Look(ctx, t)
	return !seen.Exists, err
}
