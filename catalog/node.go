package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// BeatInterval is how often a node says that it is there. After two missed beats its work may be
// taken over.
const BeatInterval = 5 * time.Second

// ErrNodeGone says that the node has left, or was taken for gone and removed.
var ErrNodeGone = errors.New("node is not registered any more")

// Node is one running proxy process.
type Node struct {
	ID          uint64
	Name        string // host name and process
	Address     string // where it listens
	Version     string
	Engine      bool // runs jobs
	Workers     int
	Server      string // its catalog connection is on
	Stop        Stop   // why it deletes nothing; empty when it may delete
	Status      string // the same in a sentence, or what slows it down; empty when nothing does
	StartedAt   time.Time
	HeartbeatAt time.Time
	LeftAt      time.Time // zero while it is there
	Live        bool      // has not left and missed fewer than two beats
}

// Stop is why a node deletes nothing, whatever the policies say, as a word for metrics.
type Stop string

// The reasons of a Stop.
const (
	StopFile    Stop = "stop file"    // --stop-file exists
	StopSwitch  Stop = "switched off" // ttl_job_enable is OFF
	StopSilence Stop = "cut off"      // the catalog does not answer it
	StopClock   Stop = "clock"        // the server's clock is not believed: no job starts
	StopSetting Stop = "setting"      // a setting has a value that this version does not understand
)

// Stops are all there are.
func Stops() []Stop { return []Stop{StopFile, StopSwitch, StopSilence, StopClock, StopSetting} }

// deadAfter is two beats and a little for transport.
func (s *Store) deadAfter() int64 {
	return (2*s.cfg.BeatInterval + s.cfg.BeatInterval/5).Microseconds()
}

// Join registers a process and returns its id. Each start is a new node.
func (s *Store) Join(ctx context.Context, n Node) (uint64, error) {
	id, err := s.insert(ctx, s.db, insertNode,
		n.Name, n.Address, n.Version, n.Engine, n.Workers, s.Server().Key(), n.Stop, n.Status)
	if err != nil {
		return 0, fmt.Errorf("register node: %w", err)
	}
	return id, nil
}

// Beat keeps a node alive and records what stops it or holds it back. ErrNodeGone means: stop
// working and Join again.
func (s *Store) Beat(ctx context.Context, node uint64, workers int, stop Stop, status string) error {
	n, err := s.exec(ctx, s.db, beatNode, workers, stop, status, node)
	if err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	if n == 0 {
		return ErrNodeGone
	}
	return nil
}

// Leave gives the node's leases and tasks back at once, so that nobody has to wait for missed
// beats.
func (s *Store) Leave(ctx context.Context, node uint64) error {
	return s.tx(ctx, "leave", func(tx *sql.Tx) error {
		return s.execAll(ctx, tx, []any{node}, releaseTasksOfNode, releaseJobsOfNode, releaseLeasesOfNode, leaveNode)
	})
}

// Nodes returns all nodes, live ones first.
func (s *Store) Nodes(ctx context.Context) ([]Node, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectNodes), s.deadAfter())
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	return collect(rows, func(r *sql.Rows) (n Node, err error) {
		var left sql.Null[time.Time]
		err = r.Scan(&n.ID, &n.Name, &n.Address, &n.Version, &n.Engine, &n.Workers, &n.Server, &n.Stop, &n.Status,
			&n.StartedAt, &n.HeartbeatAt, &left, &n.Live)
		n.LeftAt = left.V
		return n, err
	})
}
