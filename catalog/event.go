package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// EventKind says what happened, in one word that scripts can look for.
type EventKind string

// The kinds of events.
const (
	EventDeclared EventKind = "declared"
	EventChanged  EventKind = "changed"
	EventRemoved  EventKind = "removed"
	EventArmed    EventKind = "armed"
	EventDisarmed EventKind = "disarmed"
	EventDormant  EventKind = "dormant"
	EventRenamed  EventKind = "renamed"
	EventDropped  EventKind = "dropped"
	EventFollowed EventKind = "followed" // a DDL through us changed the table
	EventApproved EventKind = "approved"
	EventBraked   EventKind = "needs approval"
	EventPaused   EventKind = "paused"
	EventResumed  EventKind = "resumed"
	EventCancel   EventKind = "cancelled"
	EventRun      EventKind = "run requested"
	EventSetting  EventKind = "setting"
	// the server is not the one the catalog knows, or a partition not the one that it was
	EventHeld    EventKind = "held"
	EventTrusted EventKind = "trusted"
	EventSettled EventKind = "settled" // a stage whose client has gone
	EventEngine  EventKind = "engine"
	// a partition has gone whole, or has come back
	EventPartition EventKind = "partition"
)

// Event is something that a person may want to read tomorrow.
type Event struct {
	ID       uint64
	At       time.Time
	Kind     EventKind
	PolicyID uint64
	Version  uint64
	Table    Table
	Actor    string // account, or the node that acted by itself
	Text     string
}

// Record writes an event that does not come with a change of the catalog.
func (s *Store) Record(ctx context.Context, e Event) error {
	before := s.news.recorded()
	err := s.record(ctx, s.db, e)
	if err == nil {
		s.news.since(before)
	}
	return err
}

func (s *Store) record(ctx context.Context, on execer, e Event) error {
	_, err := s.exec(ctx, on, insertEvent, e.Kind, e.PolicyID, e.Version, e.Table.Schema, e.Table.Name, e.Actor, e.Text)
	if err != nil {
		return fmt.Errorf("record event: %w", err)
	}
	s.cfg.Metrics.events.WithLabelValues(string(e.Kind)).Inc()
	s.news.record(e.Kind)
	return nil
}

// event returns an event about the policy.
func (p Policy) event(kind EventKind, actor, text string) Event {
	return Event{Kind: kind, PolicyID: p.ID, Version: p.Version, Table: p.Table, Actor: actor, Text: text}
}

// Events returns what happened, the latest first.
func (s *Store) Events(ctx context.Context, f Filter) ([]Event, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectEvents), f.args()...)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return collect(rows, func(r *sql.Rows) (e Event, err error) {
		return e, r.Scan(
			&e.ID, &e.At, &e.Kind, &e.PolicyID, &e.Version, &e.Table.Schema, &e.Table.Name, &e.Actor, &e.Text)
	})
}
