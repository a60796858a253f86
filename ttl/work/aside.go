package work

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// AsideStore is what is asked of the catalog about tables that partitions have become.
type AsideStore interface {
	SideStore
	TurnStore
	Over(ctx context.Context) ([]catalog.Departure, error)
	EndKept(ctx context.Context, d catalog.Departure, p catalog.Policy, settings uint64) (catalog.Departure, error)
	KeepOn(ctx context.Context, d catalog.Departure, why string) error
	ForgetKept(ctx context.Context, d catalog.Departure) error
	DropLeftovers(ctx context.Context) error
	EndingGuard(d catalog.Departure) string
}

// Leaving is whatever decides on tables that partitions have become, beside their policies.
type Leaving struct {
	Now      time.Time // the database's clock
	Floor    string    // ttl_date_floor
	Settings uint64    // their revision
	Window   *ddl.Window
	Metrics  *Metrics
	Stopped  func() string
	Pace     pace.Errand          // what signals and rates leave the policy
	Target   time.Duration        // of a statement that counts
	Until    time.Time            // by the local clock: what is not counted then is another time
	Counted  map[uint64]*Counting // by the id of the table, of those that are counted, or in part, and have not ended

	BeforePacket func() // hook for tests; nil for none
}

// Counting is how far a table has been counted, by one rule, on one connection: when a server has been started anew it
// does not remember any more who has written what.
type Counting struct {
	stillness // since it began, and until Last

	version, settings uint64
	conn              *sql.Conn
	at                plan.Range
	size              *pace.BatchSize
	rows, stays       int64
	whole             bool // it is counted to its end
}

// Last is when the count came so far, or when it was known last that nobody has written to the table since.
func (c *Counting) Last() string { return c.last }

// Rows are how many have been counted.
func (c *Counting) Rows() int64 { return c.rows }

// DropAside drops what a partition has become, when its grace is over and its policy still says so: as it is
// now, of each of the rows that are there now. As with the partition itself, judgement and DDL come under the
// same locks, when it is its turn, and not while somebody has used the table for long. It is held, to be asked for
// again, while signals or rates leave no time for it.
func DropAside(
	ctx context.Context, s *Session, store AsideStore, d catalog.Departure, p catalog.Policy, l Leaving,
) (held bool, err error) {
	if l.Counted[d.SideID] == nil && !l.Pace.MaySearch(ctx) {
		return true, nil
	}
	if err := s.Ready(ctx); err != nil {
		return false, err
	}

	id, err := s.tableID(ctx, store, d.Side)
	if err != nil {
		return false, err
	}
	if id != d.SideID { // somebody has dropped, renamed or rebuilt it: it is not ours any more
		return false, store.ForgetKept(ctx, d)
	}

	a := aside{session: s, Leaving: l, mariadb: store.Server().MariaDB}
	why, judged, err := a.judge(ctx, p, d)
	switch {
	case err != nil || l.Stopped() != "":
		return false, err
	case why != "":
		delete(l.Counted, d.SideID)
		return false, store.KeepOn(ctx, d, why)
	case !judged:
		return a.held, nil
	}

	if held, err = a.end(ctx, store, d, p); !held {
		delete(l.Counted, d.SideID)
	}
	return held, err
}

// end drops a table that was judged, when it is its turn.
func (a *aside) end(
	ctx context.Context, store AsideStore, d catalog.Departure, p catalog.Policy,
) (held bool, err error) {
	if !a.Pace.MaySend(ctx) {
		return true, nil // what is counted stays so, if nobody writes to it
	}
	taken, err := a.session.takeTurn(ctx, store, turnStep)
	if !taken || err != nil {
		return false, err
	}
	defer a.session.Close()
	if a.session.users(ctx, store.Server().MariaDB, d.Side, asideWait) != "" {
		return false, nil // another time
	}
	if a.Pace.Behind() {
		return true, nil
	}

	began := time.Now()
	err = a.drop(ctx, store, d, p)
	a.Pace.Took(time.Since(began))
	if _, used := errors.AsType[*inUseError](err); used || inUse(err) || errors.Is(err, errHalted) {
		return false, nil // somebody reads it: another time
	}
	return false, err
}

// asideWait is how long it is waited for a table that a partition has become.
const asideWait = time.Second

// drop drops the table, if nothing has changed.
func (a *aside) drop(ctx context.Context, store AsideStore, d catalog.Departure, p catalog.Policy) error {
	ending, err := store.EndKept(ctx, d, p, a.Settings)
	if err != nil || a.Stopped() != "" {
		return err
	}

	if a.BeforePacket != nil {
		a.BeforePacket()
	}

	departures := store.Name("departure")
	drop := fmt.Sprintf("/* ttlproxy job=%d policy=%d v=%d */ DROP TABLE %s", d.Job, p.ID, p.Version, d.Side)
	ends, still := a.still(d.Side)
	may := store.EndingGuard(ending) + windowGuard(p, a.Now, a.Window) + still
	statements := slices.Concat(ends, []string{goIf(may)}, ifHeld(drop), []string{
		fmt.Sprintf("UPDATE %s SET state = 'settled', state_at = UTC_TIMESTAMP(6) WHERE policy_id = %d AND "+
			"partition_name = %s AND fence = %d AND state = 'ending' AND @ttlproxy_go", departures, ending.Policy,
			tables.Literal(ending.Partition), ending.Fence),
	})
	return attempt{
		session: a.session, metrics: a.Metrics, mariadb: store.Server().MariaDB, wait: asideWait,
		packet: func(wait time.Duration) []string {
			return underLocks(wait, []string{d.Side.String(), departures}, statements...)
		},
		goesOn: func(ctx context.Context) error {
			if ctx.Err() != nil || a.Stopped() != "" {
				return errHalted
			}
			return nil
		},
	}.make(ctx)
}

// aside is a table that a partition has become, and is to be dropped.
type aside struct {
	Leaving

	session    *Session
	mariadb    bool
	statements *plan.Statements
	counted    Counting
	held       bool // its count, by signals or rates
}

// judge says why a table is kept for longer: some of its rows have not expired by the rule as it is now. A large one is
// counted in several goes: whoever judges has other things to do, and the server, too. What has expired once is not
// counted again meanwhile.
func (a *aside) judge(ctx context.Context, p catalog.Policy, d catalog.Departure) (why string, judged bool, err error) {
	if a.statements, why, err = plan.ReadAside(ctx, a.session, p, d.Side, a.Floor, a.Now); err != nil || why != "" {
		return why, true, err
	}
	if why, err = ZonePause(ctx, a.session, p.Rule, a.statements.Expired.Kind); err != nil || why != "" {
		return why, true, err
	}

	c, err := a.goOn(ctx, p, d)
	if err != nil {
		return "", false, err
	}
	for !c.whole {
		if a.held = !a.Pace.MaySearch(ctx); a.held {
			break
		}
		if err := a.count(ctx, c); err != nil {
			return "", false, fmt.Errorf("count %s: %w", d.Side, err)
		}
		if a.Stopped() != "" || time.Now().After(a.Until) {
			break
		}
	}
	a.session.kept = time.Now().Add(restsFor * time.Second)
	if c.last, err = a.session.clock(ctx); err != nil || !c.whole {
		return "", false, err
	}
	if c.last < c.since { // by that clock, whoever has written to it meanwhile may have done so before
		delete(a.Counted, d.SideID)
		return "", false, nil
	}

	a.counted = *c
	if c.stays > 0 {
		why = fmt.Sprintf("%d rows in it have not expired, or never do, by the rule as it is now", c.stays)
	}
	return why, true, nil
}

// count counts the next block.
func (a *aside) count(ctx context.Context, c *Counting) error {
	c.size.Bound(countBlock, a.Target)
	began := time.Now()
	end, rows, stay, err := a.session.countBlock(ctx, a.statements, c.at, c.size.Next())
	a.Pace.Took(time.Since(began))
	if err != nil {
		return err
	}
	a.Pace.Spend(rows)
	c.size.Took(int(rows), time.Since(began))
	c.rows, c.stays, c.at.From, c.whole = c.rows+rows, c.stays+stay, end, end == nil
	return nil
}

// goOn returns how far a table has been counted, which is nothing if anybody may have written to it since.
func (a *aside) goOn(ctx context.Context, p catalog.Policy, d catalog.Departure) (c *Counting, err error) {
	c = a.Counted[d.SideID]
	if c != nil && c.version == p.Version && c.settings == a.Settings && c.conn == a.session.conn {
		var unwritten, some bool // who asks for a row keeps the table open, however long the count is held back
		query := fmt.Sprintf("SELECT %s, EXISTS (SELECT 1 FROM %s)", c.unwritten(placeOf(d.Side), restsFor), d.Side)
		err := a.session.QueryRowContext(ctx, query).Scan(&unwritten, &some)
		if err != nil || unwritten {
			return c, err
		}
	}

	c = &Counting{version: p.Version, settings: a.Settings, conn: a.session.conn, size: countSize(a.Target)}
	a.Counted[d.SideID] = c
	if !a.mariadb && a.statements.TimeIndex == "" {
		if c.contents, err = a.session.unimported(ctx, d.SideID); err != nil {
			return c, fmt.Errorf("read the id of %s: %w", d.Side, err)
		}
	}
	c.since, err = a.session.clock(ctx)
	return c, err
}

// still are the statements that ask once more while the table is locked, and the condition that no row has come that
// does not go. If that takes time, because there are many rows and no index on time, it is asked instead whether
// anybody has written to the table since it began to be judged.
func (a *aside) still(side catalog.Table) (statements []string, condition string) {
	if statements, condition = a.statements.StillEnds(); condition != "" {
		return statements, condition
	}
	if a.counted.rows <= mostUnderLock {
		return []string{"SET @ttlproxy_stays = " + a.statements.AnyStays()}, " AND NOT @ttlproxy_stays"
	}
	unwritten := "SET @ttlproxy_unwritten = " + a.counted.unwritten(placeOf(side), restsFor)
	return []string{unwritten}, " AND @ttlproxy_unwritten"
}

func placeOf(t catalog.Table) tables.Target { return tables.Target{Schema: t.Schema, Table: t.Name} }

// mostUnderLock is how many rows may be read while tables are locked.
const mostUnderLock = 100_000
