package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// Teller records what the clients of one proxy have suffered, where that has changed. The zero value has told
// nothing yet.
type Teller struct {
	told   Suffered
	failed bool
}

// News reports that this has not been told yet.
func (t *Teller) News(now Suffered) bool {
	return !maps.Equal(now.Latencies, t.told.Latencies) || now.LockErrors != t.told.LockErrors
}

// Tell records it by record. What could not be recorded is said once, until it can be.
func (t *Teller) Tell(
	ctx context.Context, now Suffered, record func(context.Context, Suffered) error, log *slog.Logger,
) {
	if err := record(ctx, now); err != nil {
		t.fail(ctx, err, log)
		return
	}
	t.told, t.failed = now, false
}

// fail says once why nothing is told.
func (t *Teller) fail(ctx context.Context, err error, log *slog.Logger) {
	if !t.failed && ctx.Err() == nil {
		t.failed = true
		log.LogAttrs(ctx, slog.LevelWarn, "what clients suffer could not be recorded", slog.Any("err", err))
	}
}

const (
	// tellEvery is how often a node without an engine records what its clients suffer while rows are deleted, as
	// those with one do, and tellRest how often it does otherwise.
	tellEvery = 500 * time.Millisecond
	tellRest  = 10 * time.Second
)

// tellSuffered records what the clients of a node suffer that runs no engine, until ctx ends: deletion, which is done
// elsewhere, has to make way for them, too. While they do nothing, nothing is asked.
func (s *Store) tellSuffered(ctx context.Context, node func() uint64, suffers func() Suffered, log *slog.Logger) {
	var teller Teller
	var told time.Time
	worked := false // when it was told last: what came at the end is told at once, so that it is not taken for rest
	var settings setting.Reading
	record := func(ctx context.Context, now Suffered) error { return s.SetSuffered(ctx, node(), now) }

	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}

		now := suffers()
		if node() == 0 || !teller.News(now) {
			continue
		}
		working, err := s.working(ctx, &settings)
		if err != nil {
			teller.fail(ctx, err, log)
			continue
		}
		asked := settings.Int(setting.ThrottleLatency) > 0 || settings.Int(setting.ThrottleLockErrors) > 0
		if asked && (working || worked || time.Since(told) >= tellRest) {
			told, worked = time.Now(), working
			teller.Tell(ctx, now, record, log)
		}
	}
}

// working reports whether some job is running, and reads the settings again if they have changed.
func (s *Store) working(ctx context.Context, settings *setting.Reading) (working bool, err error) {
	var revision uint64
	if err := s.db.QueryRowContext(ctx, s.sql(selectWorking)).Scan(&working, &revision); err != nil {
		return false, fmt.Errorf("read whether there is work: %w", err)
	}
	if revision == settings.Revision {
		return working, nil
	}
	now, err := s.Settings(ctx)
	if err != nil {
		return false, err
	}
	*settings = now
	return working, nil
}

const selectWorking = `SELECT EXISTS (SELECT 1 FROM {job} WHERE state = 'running'), ` +
	settingsRevision
