package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
)

func TestOnlyFailuresAreCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{sql.ErrNoRows, ""},
		{context.Canceled, ""},
		{ErrLeaseHeld, ""},
		{fmt.Errorf("claim task: %w", ErrNoTask), ""},
		{&mysql.MySQLError{Number: ddl.CodeDeadlock}, "conflict"},
		{fmt.Errorf("beat: %w", context.DeadlineExceeded), "timeout"},
		{&mysql.MySQLError{Number: 1146}, "server"},
		{mysql.ErrInvalidConn, "connection"},
		{&net.OpError{Op: "dial", Err: errors.New("connection refused")}, "connection"},
	} {
		if got := failure(c.err); got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}
