package work

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/signal"
)

const (
	// Whoever has used a table for some seconds, in a transaction or in one statement, on MySQL.
	selectUsersMySQL = `SELECT p.id, GREATEST(` + statementAge + `, ` + signal.TransactionAge + `) AS held
 FROM performance_schema.metadata_locks l
 JOIN information_schema.processlist p ON PS_THREAD_ID(p.id) = l.owner_thread_id
 LEFT JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = p.id
 WHERE l.object_type = 'TABLE' AND l.object_schema = ? AND l.object_name = ? AND l.lock_status = 'GRANTED'
 AND p.id <> CONNECTION_ID() HAVING held >= ? ORDER BY held DESC LIMIT 1`

	// The same on MariaDB, where the plugin metadata_lock_info is there.
	selectUsersMariaDB = `SELECT p.id, GREATEST(` + statementAge + `, ` + signal.TransactionAge + `) AS held
 FROM information_schema.metadata_lock_info l
 JOIN information_schema.processlist p ON p.id = l.thread_id
 LEFT JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = p.id
 WHERE l.table_schema = ? AND l.table_name = ? AND p.id <> CONNECTION_ID() HAVING held >= ? ORDER BY held DESC LIMIT 1`

	// Transactions on any table. What is open for longer than some minutes may never end, and must not
	// hold partitions of other tables back for ever.
	selectTransactions = `SELECT x.trx_mysql_thread_id, ` + signal.TransactionAge + ` AS held
 FROM information_schema.innodb_trx x WHERE x.trx_mysql_thread_id NOT IN (0, CONNECTION_ID())
 HAVING held >= ? AND held < ? ORDER BY held DESC LIMIT 1`

	// A replication thread has been at it since it was started.
	statementAge = `IF(p.user = 'system user', 0, CAST(p.time AS SIGNED))`
)

// users says who has used a table for longer than a partition would wait for it, as far as that can be
// seen: then a try would only make others wait behind it.
func (s *Session) users(ctx context.Context, mariadb bool, t catalog.Table, wait time.Duration) (why string) {
	query := selectUsersMySQL
	if mariadb {
		query = selectUsersMariaDB
	}
	return s.user(ctx, "connection %d has used the table for %d s", query, t.Schema, t.Name, longerThan(wait))
}

// mayUse is users for a table that was just found to be in use, where nobody shows by whom.
func (s *Session) mayUse(ctx context.Context, wait time.Duration) (why string) {
	const atMost = 10 * time.Minute
	return s.user(ctx, "somebody uses the table, perhaps connection %d, whose transaction is open for %d s",
		selectTransactions, longerThan(wait), int(atMost.Seconds()))
}

func (s *Session) user(ctx context.Context, text, query string, args ...any) string {
	var connection, seconds int64
	if err := s.QueryRowContext(ctx, query, args...).Scan(&connection, &seconds); err != nil {
		return "" // nobody, or nobody knows
	}
	return fmt.Sprintf(text, connection, seconds)
}

// atLeast is a time in whole seconds, as the servers wait for it.
func atLeast(d time.Duration) int { return max(int(math.Ceil(d.Seconds())), 1) }

// longerThan is an age as the servers tell it, in whole seconds of a clock: one that began a moment ago
// may be a second old.
func longerThan(d time.Duration) int { return atLeast(d) + 1 }

// inUseError is a partition's that has to wait for whoever uses its table.
type inUseError struct{ why string }

func (e *inUseError) Error() string { return e.why }
