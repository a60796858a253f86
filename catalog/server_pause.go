package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// BinlogPause is why nothing is deleted where statements are logged as such.
const BinlogPause = "binlog_format=STATEMENT cannot carry the engine's deletes; set binlog_format=ROW"

// ServerPause says why nothing may be deleted on a server now; empty when something may. Asked by
// every tick that starts jobs, and every few seconds while jobs run. It judges by what new sessions
// begin with, not by what this one has begun with.
func ServerPause(ctx context.Context, q tables.Querier, allowReplica bool) (string, error) {
	var readOnly bool
	var binlog string
	if err := q.QueryRowContext(ctx, selectServerState).Scan(&readOnly, &binlog); err != nil {
		return "", fmt.Errorf("read the server's state: %w", err)
	}
	if readOnly {
		return "the server is read-only", nil
	}
	if binlog == "STATEMENT" {
		return BinlogPause, nil
	}
	if allowReplica {
		return "", nil
	}

	return applierPause(ctx, q)
}

// ServerPause is the same of the server on which the catalog lives. What it refuses to say stops deletion, too.
func (s *Store) ServerPause(ctx context.Context, allowReplica bool) (string, error) {
	why, err := ServerPause(ctx, s.db, allowReplica)
	if refusal, refused := errors.AsType[*mysql.MySQLError](err); refused {
		return "the server does not say whether rows may be deleted on it: " + refusal.Error(), nil
	}
	return why, err
}

// SessionPause is ServerPause for a session that is to delete: it keeps the format it began with.
func SessionPause(ctx context.Context, q tables.Querier, allowReplica bool) (string, error) {
	var format string
	if err := q.QueryRowContext(ctx, selectSessionFormat).Scan(&format); err != nil {
		return "", fmt.Errorf("read the session's state: %w", err)
	}
	if format == "STATEMENT" {
		return BinlogPause, nil
	}
	return ServerPause(ctx, q, allowReplica)
}

// applierPause looks for replication that is applied here: rows then belong to another server's
// engine. If that cannot be seen, nothing is deleted.
func applierPause(ctx context.Context, q tables.Querier) (string, error) {
	for _, query := range []string{showReplicas, showReplica} {
		rows, err := q.QueryContext(ctx, query)
		if my, refused := errors.AsType[*mysql.MySQLError](err); refused &&
			(my.Number == ddl.CodeSyntax || my.Number == ddl.CodeRightNeeded) {
			continue // the other server's spelling, or no right to look
		}
		if err != nil {
			return "", fmt.Errorf("read the state of replication: %w", err)
		}

		running, err := applierRuns(rows)
		if err != nil {
			return "", err
		}
		if running != "" {
			return "the server applies replication (" + running +
				"); SET GLOBAL ttl_allow_replica = ON if this is meant", nil
		}

		return "", nil
	}
	return "the account may not see whether this server applies replication: GRANT REPLICA MONITOR (MariaDB) or " +
		"REPLICATION CLIENT (MySQL) " +
		"ON *.*, or SET GLOBAL ttl_allow_replica = ON", nil
}

func applierRuns(rows *sql.Rows) (string, error) {
	defer rows.Close()

	names, err := rows.Columns()
	if err != nil {
		return "", err
	}

	values := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}

	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return "", err
		}
		for i, name := range names {
			if strings.EqualFold(name, "Slave_SQL_Running") || strings.EqualFold(name, "Replica_SQL_Running") {
				if values[i].String == "Yes" {
					return name + "=Yes", nil
				}
			}
		}
	}

	return "", rows.Err()
}

const (
	selectServerState   = `SELECT NOT (` + Writable + `), IF(@@global.log_bin, @@global.binlog_format, 'OFF')`
	selectSessionFormat = `SELECT IF(@@global.log_bin, @@session.binlog_format, 'OFF')`

	showReplicas = `SHOW ALL SLAVES STATUS` // MariaDB
	showReplica  = `SHOW REPLICA STATUS`    // MySQL, and MariaDB without names
)
