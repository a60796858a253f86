package catalog

import (
	"context"
	"fmt"
	"time"
)

// Pulse is what an engine keeps asking: all that may have changed, in one statement.
type Pulse struct {
	Now   time.Time // by the backend's clock
	News  uint64    // while it stays the same, nobody has changed a policy or asked for anything
	Pause GlobalPause

	Settings uint64 // the revision of the settings
	Jobs     bool   // some are open
	Leader   uint64 // the node that has the lease which was asked about; 0 for none

	Engines   int  // nodes that are there and run one
	Others    bool // there are other processes, which may be told something that this one does not hear of
	Elsewhere bool // some of the engines are on other members of a cluster
}

// Pulse returns what may be different now for a node, and who has a lease.
func (s *Store) Pulse(ctx context.Context, node uint64, lease string) (p Pulse, err error) {
	var pause globalPauseColumns
	into := append([]any{
		&p.Now, &p.News, &p.Settings, &p.Jobs, &p.Leader, &p.Engines, &p.Others, &p.Elsewhere,
	}, pause.into()...)

	err = s.db.QueryRowContext(ctx, s.sql(selectPulse), lease, node, s.deadAfter()).Scan(into...)
	if err != nil {
		return p, fmt.Errorf("read clock, events and pause: %w", err)
	}
	p.Pause = pause.value()
	return p, nil
}

// News is Pulse.News, for those who ask for nothing else.
func (s *Store) News(ctx context.Context) (news uint64, err error) {
	if err = s.db.QueryRowContext(ctx, s.sql(selectNews)).Scan(&news); err != nil {
		return 0, fmt.Errorf("read the last events: %w", err)
	}
	return news, nil
}

const (
	selectPulse = `SELECT UTC_TIMESTAMP(6), (` + selectNews + `), ` + settingsRevision + `,
 EXISTS (SELECT 1 FROM {job}),
 COALESCE((SELECT l.node_id FROM {lease} l WHERE l.name = ? AND l.expires_at > UTC_TIMESTAMP(6)), 0),
 there.engines, there.others, there.elsewhere, ` + pauseColumns + `, z.held, z.held_reason, z.held_at
 FROM {pause} z JOIN (SELECT COALESCE(SUM(n.engine), 0) AS engines, COALESCE(SUM(n.id <> ?), 0) > 0 AS others,
 COALESCE(SUM(n.engine AND n.server <> {server-key}), 0) > 0 AS elsewhere FROM {node} n
 WHERE n.left_at IS NULL AND n.heartbeat_at >= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND) there
 WHERE z.policy_id = 0`
	// The last events, added up: one that is committed after a later one changes the sum, too.
	selectNews = `SELECT COALESCE(SUM(e.id), 0) FROM (SELECT id FROM {event} ORDER BY id DESC LIMIT 32) e`
)
