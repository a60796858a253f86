package ttl

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// serverPause says why nothing may be deleted on this server now; empty when something may. Asked by
// every tick that starts jobs, and every few seconds while jobs run.
func serverPause(ctx context.Context, q tables.Querier, l limits) (string, error) {
	var readOnly bool
	var binlog string
	if err := q.QueryRowContext(ctx, selectServerState).Scan(&readOnly, &binlog); err != nil {
		return "", fmt.Errorf("read the server's state: %w", err)
	}
	if readOnly {
		return "the server is read-only", nil
	}
	if binlog == "STATEMENT" {
		return "binlog_format=STATEMENT cannot carry the engine's deletes; set binlog_format=ROW", nil
	}
	if l.allowReplica {
		return "", nil
	}

	return applierPause(ctx, q)
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

// tablePause says why this table must wait although its policy is armed and its foreign keys allow
// deletion; empty when it need not.
func tablePause(ctx context.Context, q tables.Querier, p catalog.Policy, f *tables.Facts) (string, error) {
	if unfit := f.Unfit(); unfit != "" {
		return unfit, nil
	}

	c, found := f.Column(p.Rule.Column)
	if !found || !c.Kind.Temporal() {
		return "", fmt.Errorf("column %s of %s: %w", p.Rule.Column, p.Table, errColumn)
	}
	if why := f.SessionDependence(p.Rule.Column); why != "" {
		return ddl.ReaderDependent(p.Rule.Column, why).Message, nil
	}

	return work.ZonePause(ctx, q, p.Rule, c.Kind)
}

// errColumn means that the TTL column is gone or no longer a date.
var errColumn = errors.New("not there, or not a DATE, DATETIME or TIMESTAMP any more")
