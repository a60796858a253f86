package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Signal is what a node last measured to decide how fast rows may be deleted.
type Signal struct {
	Name      string  `json:"name"`
	Source    string  `json:"source,omitempty"` // a server, a file, an address
	State     string  `json:"state"`            // measured, not seen, unknown, holds
	Value     float64 `json:"value"`
	Threshold float64 `json:"threshold"`
	Unit      string  `json:"unit,omitempty"`
	Detail    string  `json:"detail,omitempty"`
	Held      float64 `json:"held"` // share of the last hour in which it held deletion back
	Age       float64 `json:"age"`  // seconds before Throttle.At
}

// Measured says that a signal has a value; others only say why not.
const Measured = "measured"

// Throttle is what one node measures, and what follows from it.
type Throttle struct {
	Node    uint64
	Decides bool    // Share is that of all nodes
	Share   float64 // of their full speed: 1 is no limit, 0 a stop
	HeldBy  string  // the signal that keeps the share below 1; empty if none does
	Own     Own     // what the node's own checks leave it of that
	Signals []Signal
	At      time.Time // of the backend
	Age     time.Duration
}

// Own is the share of its full speed that a node's own checks leave it. The zero Own leaves it all.
type Own struct {
	Share  float64
	HeldBy string // the check that keeps the share below 1; empty if none does
}

// Bounds says that the node is held back by checks of its own.
func (o Own) Bounds() bool { return o.HeldBy != "" }

// ThrottleFor is how long a share holds that nobody has renewed.
const ThrottleFor = 5 * time.Second

// InForce says that nodes delete by this share now.
func (t Throttle) InForce() bool { return t.Decides && t.Fresh() }

// Fresh says that the node still goes by what it has measured: not what is from the future, from before the database's
// clock was set back. Servers of a cluster that write it may be a little ahead of each other.
func (t Throttle) Fresh() bool { return -clocksApart <= t.Age && t.Age <= ThrottleFor }

// clocksApart is how far the clocks of a cluster's servers may be apart.
const clocksApart = time.Second

// SetThrottle records what a node measures.
func (s *Store) SetThrottle(ctx context.Context, t Throttle) error {
	content, err := json.Marshal(t.Signals)
	if err != nil {
		return fmt.Errorf("record signals: %w", err)
	}
	share := sql.Null[float64]{V: t.Share, Valid: t.Decides}
	own := sql.Null[float64]{V: t.Own.Share, Valid: t.Own.Bounds()}
	by := sql.Null[string]{V: t.Own.HeldBy, Valid: t.Own.Bounds()}
	if _, err := s.exec(ctx, s.db, upsertThrottle, t.Node, share, t.HeldBy, own, by, string(content)); err != nil {
		return fmt.Errorf("record signals: %w", err)
	}
	return nil
}

// Share returns what nodes go by, without the signals: the zero Throttle if nobody has decided lately.
func (s *Store) Share(ctx context.Context) (Throttle, error) {
	all, err := s.Shares(ctx)
	if err != nil || len(all) == 0 || !all[0].Decides {
		return Throttle{}, err
	}
	return all[0], nil
}

// Shares returns what nodes delete by, each without its signals, the one that decided last first.
func (s *Store) Shares(ctx context.Context) ([]Throttle, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectShares))
	if err != nil {
		return nil, fmt.Errorf("read the shares of the speed: %w", err)
	}
	return collect(rows, func(r *sql.Rows) (Throttle, error) { return scanThrottle(r) })
}

// Throttles returns what all nodes measured last, the one that decides first.
func (s *Store) Throttles(ctx context.Context) ([]Throttle, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectThrottles))
	if err != nil {
		return nil, fmt.Errorf("read signals: %w", err)
	}
	return collect(rows, func(r *sql.Rows) (t Throttle, err error) {
		var content []byte
		if t, err = scanThrottle(r, &content); err != nil {
			return t, err
		}
		return t, json.Unmarshal(content, &t.Signals)
	})
}

// scanThrottle reads throttleColumns, and what a query has behind them.
func scanThrottle(r *sql.Rows, more ...any) (t Throttle, err error) {
	var share, own sql.Null[float64]
	var by sql.Null[string]
	var age int64
	err = r.Scan(append([]any{&t.Node, &share, &t.HeldBy, &own, &by, &t.At, &age}, more...)...)
	t.Decides, t.Share, t.Age = share.Valid, share.V, time.Duration(age)*time.Microsecond
	t.Own = Own{own.V, by.V}
	return t, err
}

const (
	upsertThrottle = `INSERT INTO {throttle} (node_id, share, held_by, own_share, own_held_by, content,
 measured_at) VALUES (?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE share = VALUES(share),
 held_by = VALUES(held_by), own_share = VALUES(own_share), own_held_by = VALUES(own_held_by),
 content = VALUES(content), measured_at = VALUES(measured_at)`

	throttleColumns = `node_id, share, held_by, own_share, own_held_by, measured_at,
 TIMESTAMPDIFF(MICROSECOND, measured_at, UTC_TIMESTAMP(6))`
	decidedFirst = ` ORDER BY share IS NULL, measured_at DESC`
	selectShares = `SELECT ` + throttleColumns + ` FROM {throttle}
 WHERE measured_at > UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE AND ` + notAhead + decidedFirst
	// What is further ahead is from before the clock was set back, and of a node that is gone: see clocksApart.
	notAhead = `measured_at <= UTC_TIMESTAMP(6) + INTERVAL 1 SECOND`
	// A node measures several times a minute while it measures at all; another one may have taken its place.
	selectThrottles = `SELECT ` + throttleColumns + `, content FROM {throttle}
 WHERE measured_at > (SELECT MAX(measured_at) FROM {throttle} WHERE ` + notAhead + `) - INTERVAL 1 MINUTE
 AND ` + notAhead + decidedFirst
	// What a node measured that is gone says nothing any more.
	deleteOldThrottles = `DELETE FROM {throttle} WHERE measured_at < UTC_TIMESTAMP(6) - INTERVAL 1 DAY LIMIT 1000`
)
