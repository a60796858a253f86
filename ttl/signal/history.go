package signal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// history is the length of InnoDB's history list: row versions that wait for the purge, deleted
// rows among them. Every read has to pass over them. The oldest transaction is why they wait, if it
// is old.
type history struct{}

func (history) Name() string { return "history_length" }

const (
	// Both servers have the counter here; it is switched on unless somebody has switched it off.
	selectHistory = "SELECT COUNT FROM information_schema.INNODB_METRICS " +
		"WHERE NAME = 'trx_rseg_history_len' AND STATUS = 'enabled'"
	// Of the engine's own there is always one; number 0 is a prepared one, that of nobody.
	selectOldest = "SELECT x.trx_mysql_thread_id, " + TransactionAge + " AS age FROM information_schema.innodb_trx x " +
		"WHERE x.trx_mysql_thread_id <> 0 AND x.trx_mysql_thread_id NOT IN " +
		"(SELECT id FROM information_schema.processlist WHERE user = SUBSTRING_INDEX(USER(), '@', 1)) " +
		"ORDER BY age DESC LIMIT 1"

	// TransactionAge is how many seconds ago the transaction of a line x of innodb_trx began. Its clock is that of the
	// system, whatever the session's zone, and a transaction of ours may hold the session's.
	TransactionAge = `COALESCE(TIMESTAMPDIFF(SECOND, x.trx_started,
 CONVERT_TZ(SYSDATE(), @@session.time_zone, 'SYSTEM')), 0)`
)

// oldAfter is the age from which a transaction is named as the reason.
const oldAfter = 10 * time.Second

func (h history) Read(ctx context.Context, l Look) ([]Reading, error) {
	most := l.Settings.Int(setting.ThrottleHistory)
	if most == 0 {
		return nil, nil
	}

	length, there, err := h.length(ctx, l.Server)
	if refused(err) {
		return []Reading{{State: NotSeen, Detail: "GRANT PROCESS ON *.* makes it visible"}}, nil
	}
	if err != nil {
		return nil, err
	}
	if !there {
		return []Reading{{State: NotSeen, Detail: "the server does not count it"}}, nil
	}

	r := Reading{State: Measured, Value: length, Threshold: float64(most), Unit: "versions"}
	if r.Pressure() > 0.5 {
		r.Detail = h.oldest(ctx, l.Server)
	}
	return []Reading{r}, nil
}

func (history) length(ctx context.Context, server Querier) (length float64, there bool, err error) {
	v, err := status(ctx, server, "Innodb_history_list_length") // of MariaDB
	if err != nil {
		return 0, false, err
	}
	if length, there = v["innodb_history_list_length"]; there {
		return length, true, nil
	}

	err = server.QueryRowContext(ctx, selectHistory).Scan(&length)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return length, err == nil, err
}

// oldest names a transaction that keeps old versions alive; empty if none is old, or nobody can tell.
func (history) oldest(ctx context.Context, server Querier) string {
	var thread, seconds int64
	err := server.QueryRowContext(ctx, selectOldest).Scan(&thread, &seconds)
	age := time.Duration(seconds) * time.Second
	if err != nil || age < oldAfter {
		return ""
	}
	return fmt.Sprintf("connection %d has had a transaction open for %s", thread, ddl.FormatDuration(age))
}

// Numbers of errors that say that a right is missing.
const (
	tableRefused  = 1142
	columnRefused = 1143
	rightRefused  = 1227
)

// refused reports whether the account may not see something.
func refused(err error) bool {
	my, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (my.Number == tableRefused || my.Number == columnRefused || my.Number == rightRefused)
}

// absent reports whether the server has no such table.
func absent(err error) bool {
	my, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (my.Number == codeNoTable || my.Number == codeNoSchema || my.Number == codeUnknownTable)
}
