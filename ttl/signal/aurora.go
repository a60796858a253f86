package signal

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// aurora is how far the readers of an Amazon Aurora cluster are behind, as the cluster itself says in
// one table. They share the writer's storage and apply no changes, so there is no binary log by which
// they could be found; their lag is that of what they keep in memory. A reader that is gone stays in
// the table for some time, with the last that was heard of it.
type aurora struct {
	table   string
	none    time.Time // when the server was last seen not to be Aurora
	newest  float64   // the last time at which any member reported, by the server's clock
	changed time.Time // when that was first seen
	courses map[string]*course

	mu      sync.Mutex
	readers []string // those that were there last, and not gone
}

const (
	auroraTable  = "information_schema.replica_host_status"
	auroraWriter = "MASTER_SESSION_ID"
	// auroraAgain is how soon a server that is not Aurora is asked again.
	auroraAgain = 10 * time.Minute
	// auroraSilent is how much later than the others a member may have reported: they do so every
	// second or oftener.
	auroraSilent = 10 * time.Second
	// auroraGone is how much later makes it a member that is gone, as Amazon's own drivers have it.
	auroraGone = 5 * time.Minute

	codeUnknownTable = 1109 // of information_schema
)

func newAurora(table string) *aurora { return &aurora{table: table, courses: map[string]*course{}} }

func (*aurora) Name() string { return "replica_lag" }

// Read reads the table, unless replicas were named: those are asked themselves.
func (a *aurora) Read(ctx context.Context, l Look) ([]Reading, error) {
	most := time.Duration(l.Settings.Int(setting.ThrottleReplicaLag)) * time.Millisecond
	if most == 0 || l.Idle || len(l.Settings.Hosts(setting.ThrottleReplicas)) > 0 {
		return nil, nil
	}
	if !a.none.IsZero() && time.Since(a.none) < auroraAgain {
		return nil, nil
	}

	members, err := a.members(ctx, l.Server)
	if absent(err) {
		a.none = time.Now()
		a.keep(nil)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how far Aurora's readers are behind: %w", err)
	}
	a.none = time.Time{}

	var all []Reading
	a.heard(members)
	for _, m := range members {
		if !m.writer {
			all = append(all, a.reading(m, most, l.Settings[setting.ThrottleLagUnknown] == setting.LagHold))
		}
	}
	a.keep(all)
	return all, nil
}

// keep remembers who was there.
func (a *aurora) keep(all []Reading) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.readers = nil
	for _, r := range all {
		if r.State != NotSeen {
			a.readers = append(a.readers, r.Source)
		}
	}
}

// Doubtful are those that were there last: while the cluster does not say, nobody knows how far they are behind.
func (a *aurora) Doubtful(l Look) (all []Reading) {
	if l.Settings.Int(setting.ThrottleReplicaLag) == 0 || len(l.Settings.Hosts(setting.ThrottleReplicas)) > 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, reader := range a.readers {
		all = append(all, Reading{Source: reader, Hold: l.Settings[setting.ThrottleLagUnknown] == setting.LagHold})
	}
	return all
}

// member is a line of the table.
type member struct {
	name     string
	writer   bool
	lag      sql.NullFloat64 // milliseconds
	reported float64         // seconds by the server's clock; 0 if it does not say
}

func (a *aurora) members(ctx context.Context, server Querier) (all []member, err error) {
	rows, err := server.QueryContext(ctx, "SELECT SERVER_ID, SESSION_ID = '"+auroraWriter+
		"', REPLICA_LAG_IN_MILLISECONDS, COALESCE(UNIX_TIMESTAMP(LAST_UPDATE_TIMESTAMP), 0) FROM "+a.table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	for rows.Next() {
		var m member
		if err := rows.Scan(&m.name, &m.writer, &m.lag, &m.reported); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, rows.Err()
}

// heard notes when any member reported last. Only differences of the server's times count: in which
// zone it writes them makes none.
func (a *aurora) heard(members []member) {
	newest := 0.0
	for _, m := range members {
		newest = max(newest, m.reported)
	}
	if newest != a.newest || a.changed.IsZero() {
		a.newest, a.changed = newest, time.Now()
	}
	for name := range a.courses {
		if !slices.ContainsFunc(members, func(m member) bool { return m.name == name }) {
			delete(a.courses, name)
		}
	}
}

// reading judges a reader.
func (a *aurora) reading(m member, most time.Duration, hold bool) Reading {
	r := Reading{
		Source: m.name, State: Measured, Unit: "ms", Threshold: float64(most.Milliseconds()),
		Value: math.Round(m.lag.Float64), Hold: hold,
	}
	silent := time.Duration((a.newest - m.reported) * float64(time.Second))

	switch {
	case m.reported == 0: // it is in the table: nobody has said that it is gone
		r.State, r.Detail = Unknown, "it does not say when it has reported"
	case silent > auroraGone:
		delete(a.courses, m.name)
		r.State = NotSeen
		r.Detail = fmt.Sprintf("it is gone: the others reported %s after it", ddl.FormatDuration(silent))
	case silent > auroraSilent:
		r.State, r.Detail = Unknown, fmt.Sprintf("it has not reported for %s", ddl.FormatDuration(silent))
	case time.Since(a.changed) > auroraSilent:
		r.State = Unknown
		r.Detail = fmt.Sprintf("no member has reported for %s", ddl.FormatDuration(time.Since(a.changed)))
	case !m.lag.Valid || m.lag.Float64 < 0:
		r.State, r.Detail = Unknown, "it does not say how far it is behind"
	default:
		if a.courses[m.name] == nil {
			a.courses[m.name] = &course{}
		}
		a.courses[m.name].judge(&r, time.Duration(m.lag.Float64*float64(time.Millisecond)), most)
	}
	return r
}
