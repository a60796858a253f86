package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Suffered is what the clients of a proxy have suffered since it started.
type Suffered struct {
	Latencies  map[int64]uint64 // commands, by the microseconds that they took at most
	LockErrors uint64           // commands that the server refused for their locks
}

// SetSuffered records what a node's clients have suffered.
func (s *Store) SetSuffered(ctx context.Context, node uint64, now Suffered) error {
	content, err := json.Marshal(now.Latencies)
	if err != nil {
		return fmt.Errorf("record latencies: %w", err)
	}
	if _, err := s.exec(ctx, s.db, upsertLatency, node, string(content), now.LockErrors); err != nil {
		return fmt.Errorf("record latencies: %w", err)
	}
	return nil
}

// Suffered is what the clients of all nodes have suffered that have recorded it lately.
func (s *Store) Suffered(ctx context.Context) (map[uint64]Suffered, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectLatencies))
	if err != nil {
		return nil, fmt.Errorf("read latencies: %w", err)
	}

	type ofNode struct {
		node uint64
		Suffered
	}
	list, err := collect(rows, func(r *sql.Rows) (n ofNode, err error) {
		var content []byte
		if err := r.Scan(&n.node, &content, &n.LockErrors); err != nil {
			return n, err
		}
		return n, json.Unmarshal(content, &n.Latencies)
	})

	all := map[uint64]Suffered{}
	for _, n := range list {
		all[n.node] = n.Suffered
	}
	return all, err
}

// Probe makes a change as small as any that an application makes, and says how long it took until
// it was committed.
func (s *Store) Probe(ctx context.Context) (took time.Duration, err error) {
	conn, err := s.db.Conn(ctx) // to wait for one is not the server's doing
	if err != nil {
		return 0, fmt.Errorf("probe: %w", err)
	}
	defer conn.Close()

	began := time.Now()
	n, err := s.exec(ctx, conn, changeProbe)
	took = time.Since(began)
	if err == nil && n == 0 {
		_, err = s.exec(ctx, conn, createProbe)
	}
	if err != nil {
		return took, fmt.Errorf("probe: %w", err)
	}
	return took, nil
}

const (
	upsertLatency = `INSERT INTO {latency} (node_id, content, lock_errors, measured_at)
 VALUES (?, ?, ?, UTC_TIMESTAMP(6))
 ON DUPLICATE KEY UPDATE content = VALUES(content), lock_errors = VALUES(lock_errors),
 measured_at = VALUES(measured_at)`
	selectLatencies = `SELECT node_id, content, lock_errors FROM {latency}
 WHERE measured_at >= UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE AND ` + notAhead
	deleteOldLatencies = `DELETE FROM {latency} WHERE measured_at < UTC_TIMESTAMP(6) - INTERVAL 1 DAY LIMIT 1000`

	changeProbe = `UPDATE {probe} SET number = number + 1 WHERE id = 1`
	createProbe = `INSERT INTO {probe} (id, number) VALUES (1, 1) ON DUPLICATE KEY UPDATE number = number + 1`
)
