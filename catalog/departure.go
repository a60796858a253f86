package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Departure is the last attempt to let a partition leave its table whole (TTL_PARTITION).
//
//	        ┌──── the bar ────► barred
//	ready ──┼── locks, held ──► waits
//	  ▲     ├── the server ───► refused
//	  │     └── gone ─────────► taken ──► settled
//	  └──────────────────────────────────────┘ (and from all others but taken)
//
// With TTL_PARTITION = 'EXCHANGE' it is kept instead of settled; when the grace is over, ending for some
// seconds, as it was ready before, and then settled. Brought back meanwhile it is restored, and
// settled when the empty table has gone against which its rows were exchanged.
//
// A DDL cannot carry a guard as a DELETE does, and commits whatever came before. So the engine makes a
// departure ready inside an ordinary batch, behind all of the barrier's guards; and the packet that
// lets the partition go locks this row's table together with the user's, and does so only if the row
// is still ready. Whoever changes, pauses or cancels anything bars what is ready before answering:
// either the packet finds that, or the change waits for the packet.
type Departure struct {
	Policy    uint64
	Partition string
	Bound     string // where it ended, as the server writes it; empty if that is not known
	How       string // the value of TTL_PARTITION
	Job, Task uint64
	Fence     uint64 // of the task: it names one attempt
	Server    string
	Due       uint64 // rows in it, all of them expired
	About     bool   // they were not counted: the server believes so
	State     DepartureState
	StateAt   time.Time
	Reason    string

	Side   Table         // that the partition has become; an empty name for none
	SideID uint64        // InnoDB's, of that table
	Grace  time.Duration // for which it is kept
	Until  time.Time     // when that is over; zero for never

	fromID     uint64    // InnoDB's, of the partition before
	emptyID    uint64    // of the table that is exchanged for it; 0 for none
	createTime time.Time // of the table, when the partition was gone
	tableID    uint64    // of the partition afterwards; 0 for none
}

// DepartureState is how far a departure has come.
type DepartureState string

// The states of a departure.
const (
	DepartureReady   DepartureState = "ready"   // it may go, for some seconds
	DepartureBarred  DepartureState = "barred"  // something was changed first
	DepartureWaits   DepartureState = "waits"   // somebody used the table
	DepartureRefused DepartureState = "refused" // the server would not do it
	DepartureTaken   DepartureState = "taken"   // it is gone, which nobody has noted yet
	DepartureSettled DepartureState = "settled" // it is gone
	DepartureKept    DepartureState = "kept"    // it is gone, and kept as a table
	DepartureEnding  DepartureState = "ending"  // that may be dropped, for some seconds
	// it has come back; the side table is the empty one against which it was exchanged
	DepartureRestored DepartureState = "restored"
)

// ReadyFor is how long a departure that is ready may wait for its packet: a proxy that was frozen for
// longer changes nothing.
const ReadyFor = 10 * time.Second

// departEvery is how often it is tried to let a partition of a table go.
const departEvery = time.Minute

// Rests says why it is too early to let another partition of a policy's table go: one had to wait for
// somebody a moment ago. Others would wait behind each try.
func (s *Store) Rests(ctx context.Context, policy uint64, now time.Time) (why string, err error) {
	all, err := s.Departures(ctx, policy)
	for _, d := range all {
		if d.State == DepartureWaits && now.Sub(d.StateAt) < departEvery {
			why = d.Reason
		}
	}
	return why, err
}

// Tried is Rests for the one whose turn it is to lock tables (Turn). What is ready then was tried by
// somebody who has died since: the table rests, as if that had waited.
func (s *Store) Tried(ctx context.Context, policy uint64, now time.Time) (why string, err error) {
	all, err := s.Departures(ctx, policy)
	for _, d := range all {
		switch tried := now.Sub(d.StateAt) < departEvery; {
		case tried && d.State == DepartureWaits:
			return d.Reason, err
		case tried && d.State == DepartureReady:
			why = "nobody knows what came of the last try to lock the table; it is tried again after a minute"
		}
	}
	return why, err
}

// Turn is the name of the lock of the server (GET_LOCK) that whoever locks tables that others use has meanwhile:
// two that wait for tables at once would have others wait for both.
func (s *Store) Turn() string { return "ttlproxy.turn." + keyHash(s.cfg.Schema)[:16] }

// Departures are those of a policy's partitions.
func (s *Store) Departures(ctx context.Context, policy uint64) ([]Departure, error) {
	return s.departures(ctx, s.db, selectDepartures, policy)
}

// Departure is that of one partition; a zero one if there was none.
func (s *Store) Departure(ctx context.Context, policy uint64, partition string) (d Departure, err error) {
	all, err := s.departures(ctx, s.db, selectDeparture, policy, partition)
	if err == nil && len(all) > 0 {
		d = all[0]
	}
	return d, err
}

func (s *Store) departures(ctx context.Context, on execer, query string, args ...any) ([]Departure, error) {
	rows, err := on.QueryContext(ctx, s.sql(query), args...)
	if err != nil {
		return nil, fmt.Errorf("read departures: %w", err)
	}
	return collect(rows, func(r *sql.Rows) (d Departure, err error) {
		var created, until sql.Null[time.Time]
		var grace int64
		err = r.Scan(&d.Policy, &d.Partition, &d.Bound, &d.How, &d.Job, &d.Task, &d.Fence, &d.Server, &d.Due, &d.State,
			&d.StateAt, &d.Reason, &created, &d.tableID, &d.Side.Schema, &d.Side.Name, &d.SideID, &grace, &until,
			&d.fromID, &d.emptyID, &d.About)
		d.createTime, d.Until, d.Grace = created.V, until.V, time.Duration(grace)*time.Second
		return d, err
	})
}

// EndDeparture notes why a partition did not go, unless it has gone.
func (s *Store) EndDeparture(ctx context.Context, d Departure) error {
	return s.endDeparture(ctx, s.db, d)
}

// ReadyGuard is the condition, as SQL, that a departure is ready, under its fence.
func (s *Store) ReadyGuard(d Departure) string {
	return fmt.Sprintf(readyGuard, s.Name("departure"), d.Policy, tables.Literal(d.Partition), d.Task, d.Fence)
}

// WithdrawDeparture bars an attempt that is not made, so that others need not wait for what comes of it.
func (s *Store) WithdrawDeparture(ctx context.Context, d Departure) error {
	if _, err := s.exec(ctx, s.db, withdrawDeparture, d.Policy, d.Partition, d.Task, d.Fence); err != nil {
		return fmt.Errorf("withdraw departure of partition %s: %w", d.Partition, err)
	}
	return nil
}

func (s *Store) endDeparture(ctx context.Context, on execer, d Departure) error {
	if _, err := s.exec(ctx, on, endDeparture+UnlessGone("reason", "state_at", "state"), d.Policy, d.Partition, d.How,
		d.Job, d.Task, d.Fence, d.Server, d.Due, d.State, d.Reason); err != nil {
		return fmt.Errorf("end departure of partition %s: %w", d.Partition, err)
	}
	return nil
}

// UnlessGone is how, as SQL, columns of a departure are written that is there already: all stay as they are
// if something has gone. The state is the last one, since it decides on the others.
func UnlessGone(columns ...string) string {
	set := make([]string, len(columns))
	for i, column := range columns {
		set[i] = fmt.Sprintf("%[1]s = IF(%[2]s, %[1]s, VALUES(%[1]s))", column, gone)
	}
	return " ON DUPLICATE KEY UPDATE " + strings.Join(set, ", ")
}

// SettleDepartures notes what has gone from a policy's table: its rows count as deleted by the task,
// and the table is remembered as it was right afterwards, so that what we did ourselves is not taken
// for somebody else's doing. Whoever comes across it does this; it is done once.
func (s *Store) SettleDepartures(ctx context.Context, policy uint64) error {
	return s.tx(ctx, "settle departures", func(tx *sql.Tx) error {
		if _, err := s.exec(ctx, tx, bumpSchedule, policy); err != nil {
			return err
		}
		return s.settleDepartures(ctx, tx, policy, 0)
	})
}

// settleDepartures settles those of a policy, or of a job. The caller has written the schedule.
func (s *Store) settleDepartures(ctx context.Context, tx *sql.Tx, policy, job uint64) error {
	all, err := s.departures(ctx, tx, selectTaken, policy, job)
	if err != nil {
		return err
	}
	for _, d := range all {
		if err := s.settleDeparture(ctx, tx, d); err != nil {
			return fmt.Errorf("settle departure of partition %s: %w", d.Partition, err)
		}
	}
	return nil
}

func (s *Store) settleDeparture(ctx context.Context, tx *sql.Tx, d Departure) error {
	if d.How == HowAhead {
		return s.settleAhead(ctx, tx, d)
	}
	if err := s.countDeparture(ctx, tx, d); err != nil {
		return err
	}
	if err := s.rememberDeparture(ctx, tx, d); err != nil {
		return err
	}
	if _, err := s.exec(ctx, tx, settleDeparture, d.Policy, d.Partition); err != nil {
		return err
	}
	return s.recordDeparture(ctx, tx, d)
}

// countDeparture counts what has gone.
func (s *Store) countDeparture(ctx context.Context, tx *sql.Tx, d Departure) error {
	examined := d.Due
	if d.About {
		examined = 0
	}
	_, err := s.exec(ctx, tx, countDeparted, d.Due, d.Due, examined, d.Due, d.Task)
	return err
}

// recordDeparture says what has gone.
func (s *Store) recordDeparture(ctx context.Context, tx *sql.Tx, d Departure) error {
	rows := countRows(d.Due)
	if d.About {
		rows = "about " + rows
	}
	text := fmt.Sprintf("partition %s went whole, with %s (%s)", d.Partition, rows, strings.ToLower(d.How))
	if d.Side.Name != "" {
		text += "; " + d.Side.String() + " keeps them for " + ddl.FormatDuration(d.Grace)
	}
	return s.recordFor(ctx, tx, d.Policy, EventPartition, fmt.Sprintf("engine (job %d)", d.Job), text)
}

// rememberDeparture remembers the table without the partition, or with an empty one.
func (s *Store) rememberDeparture(ctx context.Context, tx *sql.Tx, d Departure) error {
	if _, err := s.exec(ctx, tx, recreateIdentity, nullTime(d.createTime), d.Policy, d.Server); err != nil {
		return err
	}

	var err error
	if d.tableID == 0 {
		_, err = s.exec(ctx, tx, deleteIdentity, d.Policy, d.Server, d.Partition)
	} else {
		_, err = s.exec(ctx, tx, replaceIdentity, d.tableID, nullTime(d.createTime), d.Policy, d.Server, d.Partition)
	}
	if err != nil {
		return err
	}

	return s.forgetOthers(ctx, tx, d)
}

// forgetOthers has servers learn the table anew that see a change of ours by replication.
func (s *Store) forgetOthers(ctx context.Context, tx *sql.Tx, d Departure) error {
	rows, err := tx.QueryContext(ctx, s.sql(selectOtherServers), d.Policy, d.Server)
	if err != nil {
		return err
	}
	servers, err := collect(rows, func(r *sql.Rows) (key string, err error) { return key, r.Scan(&key) })
	if err != nil {
		return err
	}

	for _, key := range servers {
		if _, err := s.exec(ctx, tx, deleteServerIdentities, d.Policy, key); err != nil {
			return err
		}
	}
	return nil
}

// moves counts what has ever gone from a policy's table, as far as it is settled; what is not is
// settled first. some is false where nothing was ever tried.
func (s *Store) moves(ctx context.Context, policy uint64) (moved uint64, some bool, err error) {
	for range lookAttempts {
		var tried, taken int
		if err = s.db.QueryRowContext(ctx, s.sql(selectMoves), policy).Scan(&tried, &moved, &taken); err != nil {
			return moved, false, fmt.Errorf("read departures: %w", err)
		}
		if taken == 0 {
			return moved, tried > 0, nil
		}
		if err = s.SettleDepartures(ctx, policy); err != nil {
			return moved, true, err
		}
	}
	return moved, true, nil
}

// AfterDeparture returns, as SQL, what a packet notes of a table when a partition of it has gone:
// CREATE_TIME, and InnoDB's id of what is in the partition's place, 0 for nothing.
func (s *Store) AfterDeparture(t Table, partition string) (createTime, id string) {
	name := s.innodbName(t, partition)
	createTime = fmt.Sprintf(createdNow, tables.Literal(t.Schema), tables.Literal(t.Name))
	if s.Server().MariaDB {
		return createTime, fmt.Sprintf(idNowMariaDB, name)
	}
	return createTime, fmt.Sprintf(idNowMySQL, name)
}

// InnoDBID returns, as SQL, the id of a table without partitions; 0 if there is none of that name.
func (s *Store) InnoDBID(t Table) string {
	_, id := s.AfterDeparture(t, "")
	return id
}

// idOf reads the id of a table, or of a partition; 0 for nothing.
func (s *Store) idOf(ctx context.Context, t Table, partition string) (id uint64, err error) {
	_, query := s.AfterDeparture(t, partition)
	if err := s.db.QueryRowContext(ctx, "SELECT "+query).Scan(&id); err != nil {
		return 0, fmt.Errorf("read the id of partition %q of %s: %w", partition, t, err)
	}
	return id, nil
}

// Kept are all tables that partitions have become, the one first that is kept for the shortest time.
func (s *Store) Kept(ctx context.Context) ([]Departure, error) {
	return s.departures(ctx, s.db, selectKept)
}

// StillKept reports whether the table is there that a partition has become, by its id; as far as is known here: on
// another server it has another one.
func (s *Store) StillKept(ctx context.Context, d Departure) (bool, error) {
	if d.Server != s.Server().Key() {
		return true, nil
	}
	id, err := s.idOf(ctx, d.Side, "")
	return id != 0 && id == d.SideID, err
}

// Over are those on this server that are not to be kept any longer, and whose policies are there, and those of
// which nobody knows what they have become.
func (s *Store) Over(ctx context.Context) ([]Departure, error) {
	return s.departures(ctx, s.db, selectOver)
}

// EndKept lets the table that a partition has become be dropped within some seconds, if its policy is in
// force: what was said about the policy since, and whatever is said from now on, holds for it, too.
// It returns what may be dropped, under a new fence. Settings is the revision by which it was decided.
func (s *Store) EndKept(ctx context.Context, d Departure, p Policy, settings uint64) (Departure, error) {
	err := s.tx(ctx, "end what is kept of "+d.Partition, func(tx *sql.Tx) error {
		if _, err := s.exec(ctx, tx, bumpSchedule, p.ID); err != nil {
			return err
		}
		if err := s.inForce(ctx, tx, p.ID, p.Version); err != nil {
			return err
		}
		if err := s.mayStart(ctx, tx, NewJob{Policy: p, Settings: settings}, nil); err != nil {
			return err
		}
		n, err := s.exec(ctx, tx, endKept, d.Policy, d.Partition, d.Fence, d.SideID)
		if err == nil && n == 0 {
			err = ErrFence
		}
		return err
	})
	d.Fence++
	return d, err
}

// KeepOn keeps what a partition has become for longer, with an event if that is news.
func (s *Store) KeepOn(ctx context.Context, d Departure, why string) error {
	return s.tx(ctx, "keep "+d.Side.String(), func(tx *sql.Tx) error {
		if _, err := s.exec(ctx, tx, bumpSchedule, d.Policy); err != nil {
			return err
		}
		n, err := s.exec(ctx, tx, keepOn, why, d.Policy, d.Partition, d.Fence, d.SideID)
		if err != nil || n == 0 || why == d.Reason {
			return err
		}
		return s.recordFor(ctx, tx, d.Policy, EventPartition, "engine", fmt.Sprintf(
			"%s, which partition %s has become, is kept for longer: %s", d.Side, d.Partition, why))
	})
}

// prolong has what is kept of a policy's partitions kept for as long as its rule says now, if that is longer.
func (s *Store) prolong(ctx context.Context, tx *sql.Tx, policy uint64, r Rule) error {
	o, err := ddl.ReadOptions(r.Options)
	if err != nil || o.Partition != ddl.PartitionExchange {
		return nil //nolint:nilerr // of a rule that is not understood nothing is dropped
	}
	grace := int64(o.KeptFor().Seconds())
	_, err = s.exec(ctx, tx, prolongKept, grace, grace, policy, grace)
	return err
}

// ForgetKept notes that there is nothing left of what a partition had become.
func (s *Store) ForgetKept(ctx context.Context, d Departure) error {
	_, err := s.exec(ctx, s.db, forgetKept, d.Policy, d.Partition, d.SideID)
	return err
}

// EndingGuard is the condition, as SQL, in a packet that has locked both tables, that what a partition
// has become may be dropped, and is the table that it became.
func (s *Store) EndingGuard(d Departure) string {
	return fmt.Sprintf(endingGuard, s.Name("departure"), d.Policy, tables.Literal(d.Partition), d.Fence,
		int(ReadyFor.Seconds()), s.InnoDBID(d.Side), d.SideID)
}
