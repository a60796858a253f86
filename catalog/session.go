package catalog

import (
	"context"
	"database/sql/driver"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// SessionAge is how old a session of ours may become. It keeps what the server's globals were when it
// was opened, but for what is pinned.
const SessionAge = time.Minute

// pins take away from a session of ours what an administrator may have set for everybody else's, or
// an init_connect has done: whatever decides which rows a statement sees, what a value means, how
// the server prints what a column is computed from, whether a write is let through, and when it is
// committed. SET x = DEFAULT would be the server's global value, so each is written out, but for
// timestamp, which has none. Accounts need no right to set them. A version comment holds what only
// one flavour knows: MariaDB skips those of MySQL, and to MySQL those of MariaDB are comments.
// MySQL's hypergraph optimizer explains no plan in the form that the engine reads.
//
// TestSessionsAreTheSameWhateverTheServerSays looks at every variable there is: what is not set
// here or by the engine must be named there, with the reason why it changes nothing.
var pins = []string{
	`ROLLBACK AND NO CHAIN NO RELEASE`, // what init_connect has begun; completion_type may say CHAIN or RELEASE
	`SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE`,
	`SET NAMES utf8mb4 COLLATE utf8mb4_general_ci`,
	`SET SESSION autocommit = 1, completion_type = 0, time_zone = '+00:00', timestamp = DEFAULT, foreign_key_checks = 1,
 unique_checks = 1,
 sql_select_limit = 18446744073709551615, sql_big_selects = 1, sql_safe_updates = 0, sql_auto_is_null = 0,
 max_sort_length = 1024, group_concat_max_len = 1048576, div_precision_increment = 4, default_week_format = 0,
 lc_time_names = 'en_US', sql_quote_show_create = 1
 /*M!100600 , alter_algorithm = 'DEFAULT', max_statement_time = 0, check_constraint_checks = 1, sql_if_exists = 0,
 old_mode = '',
 default_regex_flags = '', query_cache_type = 0 */
 /*!80000 , max_execution_time = 0 */ /*!80030 , show_gipk_in_create_table_and_information_schema = 1,
 optimizer_switch = 'hypergraph_optimizer=off' */`,
}

// SessionPins returns the statements that every session of ours begins with, those of the catalog
// and those of the engine.
func SessionPins() []string { return slices.Clone(pins) }

// sessionSetup is what sessions of the catalog need in addition.
var sessionSetup = []string{
	`SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = 2, lock_wait_timeout
 = 5`,
	`SET SESSION wsrep_sync_wait = 7`, // Galera: read what other nodes committed
}

// connection is what a driver's connections can do.
type connection interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	driver.NamedValueChecker
}

// session is one of the catalog's. The log format of its beginning stays its own, and under STATEMENT
// the server takes no write of it (1665), also after an administrator has repaired that for new
// sessions. So the first that meets this refusal ends all that were opened before.
type session struct {
	connection
	of      *connector
	refused uint64 // what the connector had counted when this one was opened
}

// ExecContext runs a statement.
func (s *session) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := s.connection.ExecContext(ctx, query, args)
	if isServerError(err, ddl.CodeBinlogFormat) {
		s.of.refused.CompareAndSwap(s.refused, s.refused+1)
	}
	return result, err
}

// IsValid makes the pool drop the session when it is given back.
func (s *session) IsValid() bool { return !s.stale() && s.connection.IsValid() }

// ResetSession makes the pool drop the session instead of using it again.
func (s *session) ResetSession(ctx context.Context) error {
	if s.stale() {
		return driver.ErrBadConn
	}
	return s.connection.ResetSession(ctx)
}

func (s *session) stale() bool { return s.refused != s.of.refused.Load() }
