package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// HowAhead is how a Departure is of partitions that are made before they are needed
// (TTL_PARTITION_AHEAD): it has no partition, and nothing leaves the table. It is guarded like those
// that do, since whoever makes partitions must not be mistaken for somebody else either.
const HowAhead = "AHEAD"

// ReadyAhead lets partitions of a policy's table be made within some seconds, if the policy is in force.
// What is said about it from now on holds for them, too. Settings is the revision by which it was
// decided.
func (s *Store) ReadyAhead(ctx context.Context, p Policy, settings uint64) (d Departure, err error) {
	err = s.tx(ctx, "make partitions ready", func(tx *sql.Tx) error {
		if _, err := s.exec(ctx, tx, bumpSchedule, p.ID); err != nil {
			return err
		}
		if err := s.settleDepartures(ctx, tx, p.ID, 0); err != nil {
			return err
		}
		if err := s.inForce(ctx, tx, p.ID, p.Version); err != nil {
			return err
		}
		if err := s.mayStart(ctx, tx, NewJob{Policy: p, Settings: settings}, nil); err != nil {
			return err
		}
		if _, err := s.exec(ctx, tx, readyAhead, p.ID, HowAhead, s.Server().Key()); err != nil {
			return err
		}
		all, err := s.departures(ctx, tx, selectDeparture, p.ID, "")
		if err == nil && len(all) == 1 {
			d = all[0]
		}
		return err
	})
	return d, err
}

// EndAhead notes why no partitions were made, with an event if that is news.
func (s *Store) EndAhead(ctx context.Context, policy uint64, state DepartureState, reason string) error {
	return s.tx(ctx, "note why no partitions were made", func(tx *sql.Tx) error {
		if _, err := s.exec(ctx, tx, bumpSchedule, policy); err != nil {
			return err
		}
		before, err := s.departures(ctx, tx, selectDeparture, policy, "")
		if err != nil {
			return err
		}
		if err := s.endDeparture(ctx, tx, Departure{
			Policy: policy, How: HowAhead, Server: s.Server().Key(), State: state, Reason: reason,
		}); err != nil {
			return err
		}
		if state != DepartureRefused || len(before) == 1 && before[0].State == state && before[0].Reason == reason {
			return nil
		}
		return s.recordFor(ctx, tx, policy, EventPartition, "engine", "no partitions are made ahead: "+reason)
	})
}

// EnoughAhead notes that nothing is in the way any more.
func (s *Store) EnoughAhead(ctx context.Context, policy uint64) error {
	if _, err := s.exec(ctx, s.db, enoughAhead, policy, HowAhead); err != nil {
		return fmt.Errorf("note that there are enough partitions: %w", err)
	}
	return nil
}

// StuckAhead says, by policy, why no partitions are made although they are needed, where a person has to do
// something about it.
func (s *Store) StuckAhead(ctx context.Context) (map[uint64]string, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectStuckAhead), HowAhead)
	if err != nil {
		return nil, fmt.Errorf("read why no partitions are made: %w", err)
	}
	all := map[uint64]string{}
	_, err = collect(rows, func(r *sql.Rows) (struct{}, error) {
		var policy uint64
		var why string
		err := r.Scan(&policy, &why)
		all[policy] = why
		return struct{}{}, err
	})
	return all, err
}

// AheadPacket is what a packet says that makes partitions: the condition, as SQL, that it still may, and
// the statements that note, if @ttlproxy_go is true, what the table is like then.
func (s *Store) AheadPacket(d Departure, t Table, made []string) (guard string, note []string) {
	mine := fmt.Sprintf("policy_id = %d AND partition_name = '' AND fence = %d AND state = 'ready'", d.Policy, d.Fence)
	guard = fmt.Sprintf(aheadGuard, s.Name("departure"), mine, int(ReadyFor.Seconds()))

	created, ids := "", make([]string, len(made))
	for i, name := range made {
		var id string
		created, id = s.AfterDeparture(t, name)
		ids[i] = tables.Literal(name) + ", CAST(" + id + " AS CHAR)"
	}
	return guard, []string{
		fmt.Sprintf("SET @ttlproxy_created = %s, @ttlproxy_ids = JSON_OBJECT(%s)", created, strings.Join(ids, ", ")),
		fmt.Sprintf("UPDATE %s SET state = 'taken', state_at = UTC_TIMESTAMP(6), create_time = @ttlproxy_created, "+
			"reason = @ttlproxy_ids WHERE %s AND @ttlproxy_go", s.Name("departure"), mine),
	}
}

// settleAhead remembers partitions that were made, so that what we did ourselves is not taken for
// somebody else's doing.
func (s *Store) settleAhead(ctx context.Context, tx *sql.Tx, d Departure) error {
	var made map[string]string
	if err := json.Unmarshal([]byte(d.Reason), &made); err != nil {
		return fmt.Errorf("read which partitions were made: %w", err)
	}
	if _, err := s.exec(ctx, tx, recreateIdentity, nullTime(d.createTime), d.Policy, d.Server); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(made))
	all := make(tables.Incarnation, len(names))
	for i, name := range names {
		id, err := strconv.ParseUint(made[name], 10, 64)
		if err != nil {
			return fmt.Errorf("read the id of partition %s: %w", name, err)
		}
		all[i] = tables.Identity{Partition: name, TableID: id, CreateTime: d.createTime}
		if _, err := s.exec(ctx, tx, deleteIdentity, d.Policy, d.Server, name); err != nil {
			return err
		}
	}
	if err := s.insertIdentities(ctx, tx, d.Policy, d.Server, all, nil); err != nil {
		return err
	}
	if err := s.forgetOthers(ctx, tx, d); err != nil {
		return err
	}
	if _, err := s.exec(ctx, tx, settleDeparture, d.Policy, d.Partition); err != nil {
		return err
	}
	return s.recordFor(ctx, tx, d.Policy, EventPartition, "engine", "partitions were made: "+strings.Join(names, ", "))
}
