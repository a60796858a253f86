package catalog

import (
	"context"
	"fmt"
)

// The heartbeat is one row, so that whoever replicates the catalog has one small change at a time.
const (
	beatHeart   = `UPDATE {heartbeat} SET token = ?, number = ?, beaten_at = UTC_TIMESTAMP(6) WHERE id = 1`
	createHeart = `INSERT INTO {heartbeat} (id, token, number, beaten_at) VALUES (1, ?, ?, UTC_TIMESTAMP(6))
 ON DUPLICATE KEY UPDATE token = VALUES(token), number = VALUES(number), beaten_at = VALUES(beaten_at)`
)

// Heartbeat writes a number, by which replicas show how far they are, with the token of who writes.
func (s *Store) Heartbeat(ctx context.Context, token string, number uint64) error {
	n, err := s.exec(ctx, s.db, beatHeart, token, number)
	if err == nil && n == 0 {
		_, err = s.exec(ctx, s.db, createHeart, token, number)
	}
	if err != nil {
		return fmt.Errorf("heartbeat for replicas: %w", err)
	}
	return nil
}
