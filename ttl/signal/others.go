package signal

import (
	"context"
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"
)

// others tell whether anybody but the engine is at work on the server: whoever is alone harms nobody.
type others struct {
	statements speed
	recent     float64   // per second, half as much of them with each look
	running    time.Time // when one was last seen that ran a statement
}

const (
	// fewStatements a second are nobody, or somebody who does not notice.
	fewStatements = 20.0
	// awakeFor is how long whoever was seen running something is awake.
	awakeFor = time.Second
)

const (
	// MariaDB takes the variable for 0 beside an aggregate of no rows.
	countStatements = "SELECT n, @@performance_schema FROM (SELECT COALESCE(SUM(COUNT_STAR), 0) AS n FROM " +
		latencyTable + " WHERE USER IS NOT NULL AND USER <> SUBSTRING_INDEX(USER(), '@', 1)) counted"
	// Where nothing is counted, who is awake or has been within a second shows it. MySQL has the time of those who
	// sleep begin with their last statement: of a long one that has just ended it says nothing.
	countAwake = "SELECT COUNT(*), COALESCE(SUM(COMMAND NOT IN ('Sleep', 'Daemon')), 0) " +
		"FROM information_schema.processlist " +
		"WHERE USER NOT IN (SUBSTRING_INDEX(USER(), '@', 1), 'system user', 'event_scheduler') " +
		"AND COMMAND NOT LIKE 'Binlog Dump%' AND (COMMAND NOT IN ('Sleep', 'Daemon') OR TIME = 0)"
)

// few reports that hardly anybody is at work.
func (o *others) few(ctx context.Context, server Querier) (bool, error) {
	var statements float64
	var counted bool
	err := server.QueryRowContext(ctx, countStatements).Scan(&statements, &counted)
	if _, none := errors.AsType[*mysql.MySQLError](err); err != nil && !none {
		return false, err
	}

	if err != nil || !counted {
		return o.asleep(ctx, server)
	}

	perSecond, known := o.statements.per(statements)
	if !known {
		return false, nil
	}
	o.recent = (o.recent + perSecond) / 2
	return o.recent < fewStatements && perSecond < fewStatements, nil
}

// asleep reports that nobody is awake, and nobody was a moment ago.
func (o *others) asleep(ctx context.Context, server Querier) (bool, error) {
	var awake, running int
	err := server.QueryRowContext(ctx, countAwake).Scan(&awake, &running)
	if my, refused := errors.AsType[*mysql.MySQLError](err); refused && my.Number == codeUnreadable {
		awake, running, err = 1, 1, nil // somebody runs what MySQL cannot show
	}
	if running > 0 {
		o.running = time.Now()
	}
	return awake == 0 && time.Since(o.running) > awakeFor, err
}
