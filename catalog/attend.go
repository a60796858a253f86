package catalog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// leaveTimeout bounds the leaving of a node that was told to stop.
const leaveTimeout = 5 * time.Second

// Attend lists a node that runs no engine until ctx ends, so that people see it, and nobody takes
// the catalog for unused. (An engine lists itself: its tasks depend on its beats.) An unreachable
// catalog only makes the node look silent. What its clients suffer is recorded, for the engines elsewhere.
func (s *Store) Attend(ctx context.Context, n Node, suffers func() Suffered, log *slog.Logger) error {
	var node atomic.Uint64
	var telling sync.WaitGroup
	telling.Go(func() { s.tellSuffered(ctx, node.Load, suffers, log) })

	for ctx.Err() == nil {
		err := ErrNodeGone
		id := node.Load()
		if id != 0 {
			err = s.Beat(ctx, id, n.Workers, n.Stop, n.Status)
		}
		if errors.Is(err, ErrNodeGone) {
			id, err = s.Join(ctx, n)
			node.Store(id)
		}
		if err != nil && ctx.Err() == nil {
			log.LogAttrs(ctx, slog.LevelWarn, "heartbeat missed", slog.Any("err", err))
		}

		_ = wait(ctx, s.cfg.BeatInterval) // the loop asks ctx itself
	}

	telling.Wait()
	if id := node.Load(); id != 0 {
		s.depart(ctx, id, log)
	}

	return nil
}

// depart leaves although ctx has ended.
func (s *Store) depart(ctx context.Context, id uint64, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if err := s.Leave(ctx, id); err != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "node could not leave", slog.Uint64("node", id), slog.Any("err", err))
	}
}
