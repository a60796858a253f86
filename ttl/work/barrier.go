package work

import (
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// barrier writes the packet of one batch (see doc.go). Everything that decides whether rows may be
// deleted is inside the packet, judged by the server; nothing that the engine believes is trusted
// from one packet to the next.
type barrier struct {
	table    string // the catalog's task table
	job      uint64
	task     uint64
	fence    uint64
	policy   uint64
	version  uint64
	guard    string // the policy is in force and not paused: catalog.Store.Guard
	moment   string // the server's zone is that of the policy, and no window has closed; empty, or begins with AND
	identity string // the table is the one the policy was declared on
	keys     string // no foreign key was added, changed or dropped; empty if none may point at the table
	mariadb  bool   // and not MySQL
	atOnce   string // precedes a DELETE that must not wait for rows; empty if the server has no such thing
}

// checkpoint is what a batch leaves behind in its task when it commits.
type checkpoint struct {
	cursor  tables.Key
	scanned int64 // rows examined on the way to the cursor
	chosen  int64 // keys named for deletion; 0 when the batch was a range
	skipped int64 // rows left because they are locked, or resting after an error
	again   int64 // rows that count as skipped and are retried
	failed  int64 // rows that cannot be deleted
	stuck   undeletable
	whole   bool // stuck are all of the task, and not only those of the batch

	held    *tables.Key  // where the task's cursor stays meanwhile; nil to move it
	entries []plan.Entry // of the expiry queue, of the rows that are named
}

// undeletable are rows that have expired and cannot go: something objects, or needs them.
type undeletable struct {
	rows   int64
	oldest time.Time // when the first of them expired; zero if that is not known
}

// and is u with others.
func (u undeletable) and(more undeletable) undeletable {
	u.rows += more.rows
	if u.oldest.IsZero() || !more.oldest.IsZero() && more.oldest.Before(u.oldest) {
		u.oldest = more.oldest
	}
	return u
}

// leave counts rows that are left alone.
func (c *checkpoint) leave(rows left) {
	c.skipped += rows.resting
	c.stuck = c.stuck.and(rows.stuck)
}

// sums adds a batch to the counts of its task.
func (c checkpoint) sums() string {
	text := fmt.Sprintf("examined = examined + %d, skipped = skipped + %d, failed = failed + %d", c.scanned,
		c.skipped-c.again, c.failed)
	if c.stuck.rows > 0 || c.whole {
		before := "undeletable"
		if c.whole {
			before = "0"
		}
		text += fmt.Sprintf(", undeletable = %s + %d", before, c.stuck.rows)
	}
	if !c.stuck.oldest.IsZero() {
		oldest := "'" + c.stuck.oldest.UTC().Format("2006-01-02 15:04:05.000000") + "'"
		text += fmt.Sprintf(", oldest_undeletable = LEAST(COALESCE(oldest_undeletable, %s), %s)", oldest, oldest)
	}
	return text
}

// at is where the task's cursor will be.
func (c checkpoint) at() tables.Key {
	if c.held != nil {
		return *c.held
	}
	return c.cursor
}

// comment precedes every deleting statement: the slow log, the process list and the binlog show it.
func (b *barrier) comment() string {
	return fmt.Sprintf("/* ttlproxy job=%d task=%d policy=%d v=%d */ ", b.job, b.task, b.policy, b.version)
}

// withoutWaiting is how MariaDB lets one statement fail at once if it would wait for a row. On
// MySQL a second is the shortest wait.
const withoutWaiting = "SET STATEMENT innodb_lock_wait_timeout = 0 FOR "

func withoutWaitingOn(s catalog.Server) string {
	if s.MariaDB {
		return withoutWaiting
	}
	return ""
}

// waits says that a DELETE would wait for a row.
func (b *barrier) waits() bool { return b.atOnce == "" }

// delete is a deleting statement as it is sent.
func (b *barrier) delete(statement string) string { return b.comment() + b.atOnce + statement }

// enter opens the barrier for batch n+1, or changes no row when the task is no longer at batch n
// under this fence, the policy is not in force in this version, a pause covers it, or it is not the
// moment. The guard's share locks keep all but the moment as it is until the transaction ends; the
// row lock on the task makes whoever wants to change it wait, or makes this packet fail.
func (b *barrier) enter(n uint64) string {
	return fmt.Sprintf("UPDATE %s SET batch = %d WHERE id = %d AND fence = %d AND batch = %d AND state = 'running' "+
		"AND %s AND %s",
		b.table, n+1, b.task, b.fence, n, b.now(), b.guard)
}

// now is the condition of what no lock keeps as it is: the server was not made read-only for all who are
// not exempt, as the account may be, its zone is the same, and no window has closed. A batch of several
// packets may take seconds, so it is asked again when rows are deleted, and before they are committed.
func (b *barrier) now() string { return catalog.Writable + b.moment }

// entered remembers in the session whether enter changed its row. The batch number alone does not
// show it: a batch that was sent before and lost may have left the same number as this one would.
const entered = "SET @ttlproxy_entered = ROW_COUNT()"

// inside is true only in a transaction whose enter changed the task's row, while it is still the
// moment, for the table the policy was declared on. Scalar subqueries: both servers evaluate them
// once, and MySQL does not turn them into a join.
func (b *barrier) inside(n uint64) string {
	return fmt.Sprintf("@ttlproxy_entered = 1 AND %s AND (SELECT COUNT(*) FROM %s WHERE id = %d AND fence = %d AND "+
		"batch = %d) = 1 AND %s",
		b.now(), b.table, b.task, b.fence, n+1, b.same())
}

// same is the condition that the table, and what points at it, is what the batch was planned for.
func (b *barrier) same() string {
	if b.keys == "" {
		return b.identity
	}
	return b.identity + " AND " + b.keys
}

// unless is what a count is reduced by: nothing, or so much that it is out of range, and the batch is
// not committed. Without the CAST MariaDB would count in decimals, and its error would be that of a row.
func unless(condition string) string {
	return " - IF(" + condition + ", CAST(0 AS UNSIGNED), 18446744073709551615)"
}

// keptKeys is the condition that no foreign key came while the rows were deleted: MariaDB creates a
// table that points at this one, and rows in it, without waiting for us, and a cascade would have
// deleted them.
func (b *barrier) keptKeys() string {
	if b.keys == "" || !b.mariadb {
		return ""
	}
	return " AND " + b.keys
}

// leave moves the cursor and counts. ROW_COUNT() is what the DELETE before it deleted. Deleted rows
// prove that it found the right table, whose metadata lock it has held since; if there are none,
// the check, which may be expensive, is repeated. It is -1 if the server could not report to its
// dead client: that is out of the range of counts, and the error keeps the packet from being
// committed; so does a moment that is over.
func (b *barrier) leave(n uint64, c checkpoint) string {
	refreshed := ""
	if c.chosen > 0 {
		refreshed = fmt.Sprintf(", refreshed = refreshed + %d - ROW_COUNT()", c.chosen)
	}
	return fmt.Sprintf("UPDATE %s SET cursor_key = %s, deleted = deleted + 1 + CAST(ROW_COUNT() AS UNSIGNED) - 1%s%s, "+
		"%s WHERE @ttlproxy_entered = 1 AND id = %d AND fence = %d AND batch = %d AND (ROW_COUNT() > 0 OR %s)",
		b.table, tables.Literal(c.at().Encode()), unless(b.now()+b.keptKeys()), refreshed,
		c.sums(), b.task, b.fence, n+1, b.same())
}

// leaveAlong is leave for a batch of which every statement has found its rows. It is committed only if
// everything that it took along is still as it was planned for.
func (b *barrier) leaveAlong(n uint64, c checkpoint, done taken, same string) string {
	return fmt.Sprintf("UPDATE %s SET cursor_key = %s, deleted = deleted + %d%s, refreshed = refreshed + %d, %s "+
		"WHERE id = %d AND fence = %d AND batch = %d",
		b.table, tables.Literal(c.at().Encode()), done.rows,
		unless("@ttlproxy_entered = 1 AND "+b.now()+" AND "+b.same()+" AND "+same), done.refreshed, c.sums(),
		b.task, b.fence, n+1)
}

// move checkpoints progress without deleting: blocks in which nothing was due.
func (b *barrier) move(n uint64, c checkpoint) string {
	return fmt.Sprintf("UPDATE %s SET cursor_key = %s, %s WHERE id = %d AND fence = %d AND batch = %d AND state = "+
		"'running'",
		b.table, tables.Literal(c.at().Encode()), c.sums(), b.task, b.fence, n)
}
