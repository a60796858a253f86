package work

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// A session that does nothing for IdleLimit is reopened before its next use: the server ends it
// after wait_timeout. One that is older than ageLimit is, too: what an administrator has set since
// then is not in force in it.
const (
	IdleLimit   = 3 * time.Second
	ageLimit    = catalog.SessionAge
	packetLimit = 30 * time.Second
	rollbackFor = 10 * time.Second
)

// frozenLimit lets the server roll back the open transaction of an engine that is frozen.
const frozenLimit = "wait_timeout = 5"

// sessionVariables are set on every connection of the engine, after those that all of our sessions
// have (catalog.SessionPins: UTC, so that TIMESTAMP literals are; READ COMMITTED, so that there are
// no gap locks and none on rows that stay). Each stands between somebody and an accident.
var sessionVariables = []string{
	"SET SESSION innodb_lock_wait_timeout = 1", // never wait long for the application's rows
	"SET SESSION lock_wait_timeout = 1",        // never queue in front of the application's DDL
	"SET SESSION " + frozenLimit,
	"SET SESSION optimizer_switch = 'materialization=off,semijoin=off'", // see plan.Statements.LookingUp
	"SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES'",    // odd dates in keys are compared, not refused
}

// flavourVariables exist on one server only, or need a right the account may lack: a refusal
// changes no meaning.
var flavourVariables = []string{
	"SET SESSION binlog_rows_query_log_events = ON",     // MySQL: the comment of the statement reaches the binlog
	"SET SESSION binlog_annotate_row_events = ON",       // MariaDB: the same
	"SET SESSION wsrep_sync_wait = 7",                   // Galera: read what other nodes committed
	"SET SESSION in_predicate_conversion_threshold = 0", // MariaDB: an IN list stays a range, not a derived table
	"SET SESSION range_optimizer_max_mem_size = 0",      // MySQL: however long the list
	"SET SESSION eq_range_index_dive_limit = 2",         // no dive per key of a list, one for a single value
	"SET SESSION information_schema_stats_expiry = 0",   // MySQL: present sizes, not yesterday's
	"SET SESSION innodb_snapshot_isolation = OFF",       // MariaDB: no error 1020 on rows that changed
	"SET SESSION idle_transaction_timeout = 5",          // MariaDB: like wait_timeout, inside transactions
	// MariaDB: a virtual column that drops fractions rounds up, as on MySQL: then it is not early,
	// whatever mode people read it in.
	"SET SESSION sql_mode = CONCAT(@@sql_mode, ',TIME_ROUND_FRACTIONAL')",
}

// restored undoes what a trigger that fires for our rows may leave behind: it runs in our session,
// and what it sets stays set. The servers themselves restore modes, character sets and checks. How
// the key of a row is read, how long we wait for it, and until when a pause lasts must not depend
// on a trigger; which row has expired does not anyway (plan.Predicate).
const restored = "SET SESSION time_zone = '+00:00', timestamp = DEFAULT, sql_select_limit = 18446744073709551615," +
	" innodb_lock_wait_timeout = 1, lock_wait_timeout = 1, " + frozenLimit

// countTables tells how many tables were made in the session, in the words of each server. Triggers
// count, and cannot set it back: FLUSH is not allowed in them.
const countTables = "SHOW SESSION STATUS WHERE Variable_name IN ('Com_create_table', 'Com_create_temporary_table', " +
	"'Com_create_sequence')"

// Session is one dedicated connection of a worker. Not safe for concurrent use.
type Session struct {
	db   *sql.DB
	conn *sql.Conn // nil while the session is closed
	gone *sql.Conn // the one that was closed last, which answers sql.ErrConnDone
	id   uint64
	used time.Time
	born time.Time
	kept time.Time // until then it does not become too old: what it counts would begin anew
	// server is the one at the other end, by its key. A task stays on the server it was prepared
	// on: tables have other ids and times on another.
	server, only string
	// visited is the policy from whose table rows were deleted, 0 for none. Triggers may have run,
	// which are somebody else's programs: what they set in the session stays there, and temporary
	// tables that they create hide others.
	visited uint64
	// touched: rows were deleted since it was known that no trigger has made a table in the session.
	touched bool
	// settings is the revision of those by which the server was looked at.
	settings uint64
	// broken: the connection was lost during a query, for example because the server was so slow
	// elsewhere that wait_timeout was over.
	broken bool

	admit  func(context.Context, *sql.Conn) error                // may refuse the server at the other end
	pauses func(context.Context, tables.Querier) (string, error) // may have reasons to wait there; nil for none
	// the expression that is server; empty when nobody needs to know
	key string
	// further statements for each connection; tests move the clock with them
	setup []string
	// those of flavourVariables that the server accepts; nil to find out each time
	flavour *atomic.Pointer[string]
}

// ID is CONNECTION_ID().
func (s *Session) ID() uint64 { return s.id }

// old reports whether the session has become too old.
func (s *Session) old() bool { return time.Since(s.born) > ageLimit && time.Now().After(s.kept) }

// Ready opens the session if it is not open, has been idle so long that the server may have closed
// it, or is old.
func (s *Session) Ready(ctx context.Context) error {
	if s.conn != nil && !s.broken && time.Since(s.used) < IdleLimit && !s.old() {
		return nil
	}

	s.Close()
	s.broken, s.visited, s.touched = false, 0, false
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}

	s.conn = conn
	if err := s.prepare(ctx); err != nil {
		s.Close()
		return err
	}

	s.used = time.Now()
	s.born = s.used
	return nil
}

func (s *Session) prepare(ctx context.Context) error {
	if _, err := s.conn.ExecContext(ctx,
		strings.Join(slices.Concat(catalog.SessionPins(), sessionVariables, s.setup), ";\n")); err != nil {
		return fmt.Errorf("prepare session: %w", err)
	}
	if err := s.prepareFlavour(ctx); err != nil {
		return fmt.Errorf("prepare session: %w", err)
	}
	if err := s.meet(ctx); err != nil {
		return err
	}
	if err := s.conn.QueryRowContext(ctx, "SELECT CONNECTION_ID(), "+cmp.Or(s.key, "''")).Scan(&s.id,
		&s.server); err != nil {
		return err
	}
	if s.only != "" && s.server != s.only {
		return &doubtError{Why: fmt.Sprintf("connections lead to server %s now, and led to %s when the task was "+
			"begun", s.server, s.only)}
	}

	return nil
}

// meet examines the server at the other end, which after a fail-over is a different one.
func (s *Session) meet(ctx context.Context) error {
	if s.admit != nil {
		if err := s.admit(ctx, s.conn); errors.Is(err, catalog.ErrUnknownServer) {
			return &doubtError{Why: err.Error()}
		} else if err != nil {
			return err
		}
	}

	if s.pauses != nil {
		switch why, err := s.pauses(ctx, s.conn); {
		case err != nil:
			return err
		case why != "":
			return &doubtError{Why: why}
		}
	}

	return nil
}

// prepareFlavour sends what the server has accepted before as one packet. The first session, and
// one on another server, finds out what that is.
func (s *Session) prepareFlavour(ctx context.Context) error {
	if s.flavour != nil {
		if known := s.flavour.Load(); known != nil {
			if _, err := s.conn.ExecContext(ctx, *known); err == nil || lost(err) {
				return err
			}
		}
	}

	accepted := []string{"DO 0"}
	for _, statement := range flavourVariables {
		_, err := s.conn.ExecContext(ctx, statement)
		if err != nil && lost(err) {
			return err
		}
		if err == nil {
			accepted = append(accepted, statement)
		}
	}

	if all := strings.Join(accepted, ";\n"); s.flavour != nil {
		s.flavour.Store(&all)
	}

	return nil
}

// visit notes that rows of a policy's table may have been deleted.
func (s *Session) visit(policy uint64) { s.visited, s.touched = policy, true }

// tidy reports whether no table was made in the session, as a trigger can: a temporary one hides the
// table whose name it has. A server that does not say is not believed.
func (s *Session) tidy(ctx context.Context) bool {
	if !s.touched {
		return true
	}

	told, made := 0, 0
	err := tables.EachRow(ctx, s, countTables, nil, func(rows *sql.Rows) error {
		var name string
		var n int
		err := rows.Scan(&name, &n)
		told, made = told+1, made+n
		return err
	})
	s.touched = err != nil || told == 0 || made > 0
	return !s.touched
}

// KeepAlive keeps the server from ending a session that is about to be used again.
func (s *Session) KeepAlive(ctx context.Context) {
	if s.conn == nil || s.broken || time.Since(s.used) < IdleLimit/3 {
		return
	}
	if err := s.conn.PingContext(ctx); err != nil {
		s.broken = true
		return
	}
	s.used = time.Now()
}

// CloseIdle closes the session when it was not used for some time.
func (s *Session) CloseIdle(idle time.Duration) {
	if time.Since(s.used) >= idle {
		s.Close()
	}
}

// reopened makes the session ready and calls announce when it is another connection than before.
func (s *Session) reopened(ctx context.Context, announce func() error) error {
	before := s.id
	if err := s.Ready(ctx); err != nil {
		return err
	}
	if s.id == before {
		return nil
	}
	return announce()
}

// packet sends statements as one packet and returns the rows each of them found. A cancelled ctx
// does not interrupt it: a batch is short, and knowing how it ended is worth more than the moment.
func (s *Session) packet(ctx context.Context, statements ...string) ([]int64, error) {
	return s.packetWithin(ctx, packetLimit, statements...)
}

// packetBytes is how long a packet of several statements gets; see tables.ListBytes.
const packetBytes = 4 * tables.ListBytes

// packets is packet for statements of one transaction that may be too long for one.
func (s *Session) packets(ctx context.Context, statements ...string) (found []int64, err error) {
	for len(statements) > 0 {
		n, size := 1, len(statements[0])
		for ; n < len(statements) && size+len(statements[n]) <= packetBytes; n++ {
			size += len(statements[n])
		}
		some, err := s.packet(ctx, statements[:n]...)
		if err != nil {
			return nil, err
		}
		found, statements = append(found, some...), statements[n:]
	}
	return found, nil
}

// packetWithin is packet for statements that may take longer.
func (s *Session) packetWithin(ctx context.Context, limit time.Duration, statements ...string) ([]int64, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()

	var found []int64
	err := s.link().Raw(func(raw any) error {
		text := strings.Join(slices.Concat(statements, s.restore()), ";\n")
		result, err := raw.(driver.ExecerContext).ExecContext(ctx, text, nil)
		if err != nil {
			return err
		}

		all := result.(mysql.Result).AllRowsAffected()
		found = all[:min(len(statements), len(all))]
		return nil
	})

	s.used = time.Now()
	if err == nil {
		return found, nil
	}

	// Part of the packet may have run: nothing of it may stay.
	if lost(err) {
		s.Close()
	} else {
		s.rollback(ctx)
	}

	return nil, err
}

// rollback ends a transaction that was left open; if that fails, the server does it. Whatever is asked of a session
// that was closed for it fails, and a busy server deserves more patience than that.
func (s *Session) rollback(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackFor)
	defer cancel()
	if s.conn == nil {
		return
	}
	if _, err := s.conn.ExecContext(ctx,
		strings.Join(slices.Concat([]string{"ROLLBACK"}, s.restore()), ";\n")); err != nil {
		s.Close()
	}
}

// restore are the statements that undo what triggers have set.
func (s *Session) restore() []string { return slices.Concat([]string{restored}, s.setup) }

// QueryContext makes the session a tables.Querier.
func (s *Session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := s.link().QueryContext(ctx, query, args...)
	s.asked(err)
	return rows, err
}

// QueryRowContext is QueryContext for one row.
func (s *Session) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	row := s.link().QueryRowContext(ctx, query, args...)
	s.asked(row.Err())
	return row
}

func (s *Session) asked(err error) {
	s.used = time.Now()
	s.broken = s.broken || err != nil && lost(err)
}

// Close gives the connection back; the server rolls back what was open.
func (s *Session) Close() {
	if s.conn == nil {
		return
	}
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn }) // ErrBadConn makes the pool drop it
	_ = s.conn.Close()
	s.conn, s.gone = nil, s.conn
}

// link is the connection. Of a session that was closed since it was made ready, by a ROLLBACK that was not answered
// for example, it is one that answers with an error.
func (s *Session) link() *sql.Conn { return cmp.Or(s.conn, s.gone) }
