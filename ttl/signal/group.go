package signal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// group is how many transactions each member of MySQL's Group Replication has yet to certify or to
// apply. When they are too many (25,000 as MySQL comes), flow control makes all writers of the group
// wait.
type group struct{}

func (group) Name() string { return "group_queue" }

const (
	groupTable  = "performance_schema.replication_group_member_stats"
	selectQueue = "SELECT MEMBER_ID, GREATEST(COUNT_TRANSACTIONS_IN_QUEUE, " +
		"COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE) FROM " + groupTable
)

func (group) Read(ctx context.Context, l Look) (all []Reading, err error) {
	most := l.Settings.Int(setting.ThrottleGroupQueue)
	if most == 0 {
		return nil, nil
	}

	rows, err := l.Server.QueryContext(ctx, selectQueue)
	switch my, refused := errors.AsType[*mysql.MySQLError](err); {
	case absent(err):
		return nil, nil // MariaDB has none
	case refused && my.Number == codeTableDenied:
		return groupHidden(ctx, l.Server)
	case err != nil:
		return nil, fmt.Errorf("read the queues of the group: %w", err)
	}
	defer rows.Close()

	for rows.Next() {
		var member string
		var length sql.NullFloat64
		if err := rows.Scan(&member, &length); err != nil {
			return nil, err
		}
		if member == "" || !length.Valid {
			continue // the server is no member
		}
		all = append(all, Reading{
			Source: member, State: Measured, Value: length.Float64, Threshold: float64(most), Unit: "transactions",
		})
	}
	return all, rows.Err()
}

// groupHidden says what a member would need to show; nothing of a server that is none, or of MariaDB,
// which refuses before it looks whether there is such a table.
func groupHidden(ctx context.Context, server Querier) ([]Reading, error) {
	var name sql.NullString
	err := server.QueryRowContext(ctx, "SELECT @@group_replication_group_name").Scan(&name)
	if _, none := errors.AsType[*mysql.MySQLError](err); none {
		return nil, nil // the plugin is not there
	}
	if err != nil || name.String == "" {
		return nil, err
	}
	return notSeen("GRANT SELECT ON " + groupTable + " makes it visible"), nil
}
