package work

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/family"
)

// consequence is what an error of a deleting packet means for its batch.
type consequence int

const (
	// notExecuted: rolled back; the same batch can be tried again.
	notExecuted consequence = iota
	// locked: rolled back because rows are locked; skip them.
	locked
	// maybeExecuted: the answer never came; read the checkpoint to know.
	maybeExecuted
	// poison: rolled back because of a row's own content: foreign key or trigger, or what depends on it;
	// isolate the row.
	poison
	// replan: the table has another index, column or partition than planned for.
	replan
	// pause: the server does not accept deletes now: read-only, disk full, STATEMENT binlog, missing
	// right.
	pause
	// never: a bug of ours or a server that we do not understand; stop the job.
	never
)

// consequences by server error number; MariaDB's own numbers are above 1900 and below 2000.
var consequences = map[uint16]consequence{
	1205: locked,      // lock wait timeout on a row, or on metadata: told apart by retrying
	3572: locked,      // MySQL: NOWAIT would have to wait
	1213: notExecuted, // deadlock, or Galera certification
	1020: notExecuted, // record changed since last read (MariaDB with snapshot isolation)
	1047: pause,       // Galera node not in the primary component
	1180: notExecuted, // error during COMMIT
	1297: notExecuted, // temporary error
	1317: notExecuted, // query killed
	1690: notExecuted, // out of range: a count or a foreign key forbids the batch (barrier.leave)
	1969: notExecuted, // max_statement_time exceeded (MariaDB)
	3024: notExecuted, // max_execution_time exceeded
	1040: pause,       // too many connections
	1203: pause,       // too many connections of this account
	1226: pause,       // account's hourly limits
	1053: maybeExecuted,
	1927: maybeExecuted, // connection was killed (MariaDB)
	4031: maybeExecuted, // disconnected because of inactivity
	1153: maybeExecuted, // longer than max_allowed_packet: the server hangs up; the next block is shorter

	1451: poison, // parent row with children
	1217: poison,
	1216: poison,
	1452: poison,
	1442: poison, // trigger touches its own table
	1172: poison,
	1242: poison,
	1264: poison,
	1265: poison,
	1292: poison,
	1366: poison,
	1406: poison,
	1048: poison,
	1062: poison,
	1364: poison, // no value for a column: of what a trigger writes, as the following
	1365: poison, // division by zero
	1369: poison, // CHECK OPTION of a view
	1411: poison,
	1441: poison, // date out of range
	1526: poison, // no partition for a value
	3819: poison, // CHECK (MySQL), unless it is that of our own task: see overdrawn
	4025: poison, // the same (MariaDB)

	1176: replan, // forced index does not exist
	1054: replan, // unknown column
	1146: replan, // no such table
	1049: replan, // no such schema
	1735: replan, // unknown partition
	1747: replan, // PARTITION () on a table without partitions
	1412: replan, // table definition has changed
	1615: replan, // statement needs to be re-prepared

	1290: pause, // --read-only
	1792: pause, // read only transaction
	1836: pause, // read-only mode
	3100: pause, // group replication refuses the transaction
	1021: pause, // disk full
	1114: pause, // table is full
	1030: pause, // storage engine error
	1026: pause, // error writing file
	1598: pause, // binary logging not possible
	1665: pause, // STATEMENT binlog with READ COMMITTED
	1142: pause, // command denied on table
	1143: pause, // command denied on column
	1044: pause, // access denied to schema
	1045: pause, // access denied
	1227: pause, // missing privilege
	1370: pause, // execute denied to trigger's routine
	1449: pause, // definer of a trigger is gone
	1197: pause, // multi-statement transaction larger than max_binlog_cache_size
	1206: pause, // lock table full
	1637: pause, // too many active transactions
}

// passes reports whether a server may answer the same question soon: it had to wait for somebody, or was interrupted.
func passes(err error) bool {
	c := classify(err)
	return c == locked || c == notExecuted
}

// classify sorts an error of a packet by its consequence.
func classify(err error) consequence {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		if overdrawn(my) {
			return notExecuted
		}
		if worded(my) {
			return poison // whatever number it gives
		}
		if c, known := consequences[my.Number]; known {
			return c
		}
		return never
	}

	if errors.Is(err, family.ErrCircle) || errors.Is(err, errObstinate) || errors.Is(err, errTooLarge) {
		return poison
	}
	if lost(err) {
		return maybeExecuted
	}

	return never
}

// worded reports that a trigger says so, in words of its own.
func worded(err *mysql.MySQLError) bool {
	const signal = 1644
	return err.Number == signal || bytes.HasPrefix(err.SQLState[:], []byte("45"))
}

// overdrawn reports that a batch would have deleted more than its task may: others were given what
// it thought it had.
func overdrawn(err *mysql.MySQLError) bool {
	return (err.Number == ddl.CodeCheckMySQL || err.Number == ddl.CodeCheckMariaDB) &&
		strings.Contains(err.Message, "task_allowed")
}

// lost reports that the connection went away, so that nobody knows whether the packet was carried
// out.
func lost(err error) bool {
	var netErr net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &netErr) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// pauseReason says why the server does not accept an account's deletes from a table now.
func pauseReason(err error, account string, table catalog.Table) string {
	my, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return err.Error()
	}
	switch my.Number {
	case ddl.CodeTableDenied, ddl.CodeColumnDenied:
		if !strings.Contains(my.Message, "'"+account+"'@") {
			break // the definer of a trigger
		}
		if !strings.Contains(my.Message, "'"+table.Name+"'") && !strings.Contains(my.Message, ddl.Quote(table.Name)) {
			break // of a child
		}
		return fmt.Sprintf("the service account may not delete from %s: GRANT SELECT, DELETE ON %s.* to it (ttlproxy "+
			"init prints the statement)", table, ddl.Quote(table.Schema))
	case 1665, 1598:
		return catalog.BinlogPause
	case 1290, 1792, 1836:
		return "the server is read-only"
	}
	return fmt.Sprintf("error %d: %s", my.Number, my.Message)
}
