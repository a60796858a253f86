package ttl

import (
	"context"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// limits are the settings by which the engine works, read again as soon as they have changed, or
// something was refused that had been decided by older ones.
type limits struct {
	work.Limits

	unread       string         // the setting that is not understood, and so may be any of these
	settings     setting.Values // all of them
	enabled      bool           // ttl_job_enable
	clusterRows  int64          // ttl_cluster_rows_limit
	timed        bool           // ttl_rate_schedule says something
	workers      int            // tasks worked on at once by this node, as by every other
	floorSet     bool           // somebody has set ttl_throttle_floor
	indexScan    bool           // ttl_enable_index_scan
	brake        plan.Brake     // ttl_brake_max_rows, ttl_brake_rows, ttl_brake_percent
	allowReplica bool           // ttl_allow_replica
	jobTimeout   time.Duration  // ttl_job_timeout
	floor        string         // ttl_date_floor
	historyDays  int64          // ttl_history_days
}

// readLimits adopts the settings, so that a change takes effect on every node within seconds.
func (e *Engine) readLimits(ctx context.Context) error {
	e.adopting.Lock()
	defer e.adopting.Unlock()

	v, err := e.store.Settings(ctx)
	if err != nil {
		return err
	}

	nodes, err := e.liveEngines(ctx)
	if err != nil {
		return err
	}

	l := limitsOf(v, nodes)
	e.gang.Limit(l.workers)
	e.duty.Workers(l.workers) // before there is work: a share is one of all of them
	e.metrics.workers.Set(float64(l.workers))

	rows, err := e.rowsLimit(ctx, v, l)
	if err != nil {
		return err
	}

	e.rates.Set(v.Int(setting.DeleteRateLimit), rows, v.Int(setting.ScanRateLimit))
	e.limits.Store(&l) // when everything else follows them: a task that is claimed under this revision does, too
	return nil
}

// rowsLimit is how many rows this node may delete per second now, by the server's clock.
func (e *Engine) rowsLimit(ctx context.Context, v setting.Reading, l limits) (pace.Limit, error) {
	var now int64
	if rates := v.Rates(); rates != nil {
		clock, err := e.store.Clock(ctx)
		if err != nil {
			return pace.Limit{}, err
		}
		now = rates.At(clock, time.UTC)
	}

	return pace.Strictest(
		pace.Limit{Name: setting.DeleteRowsLimit, PerSecond: float64(v.Int(setting.DeleteRowsLimit))},
		pace.Limit{Name: setting.ClusterRowsLimit, PerSecond: l.Share(l.clusterRows)},
		pace.Limit{Name: setting.RateSchedule, PerSecond: l.Share(now)},
	), nil
}

// workLimits are those of the limits in force by which workers work.
func (e *Engine) workLimits() *work.Limits { return &e.limits.Load().Limits }

func limitsOf(v setting.Reading, nodes int) limits {
	l := limits{
		Limits: work.Limits{
			Revision:          v.Revision,
			ScanBatch:         int(v.Int(setting.ScanBatchSize)),
			ScanMost:          v.Bound(setting.ScanBatchSize),
			DeleteBatch:       int(v.Int(setting.DeleteBatchSize)),
			DeleteMost:        v.Bound(setting.DeleteBatchSize),
			MaxChildren:       int(v.Int(setting.MaxChildren)),
			PartitionLockWait: v.Duration(setting.PartitionLockWait),
			Target:            time.Duration(v.Int(setting.BatchTargetMS)) * time.Millisecond,
			Nodes:             nodes,
			Window:            v.Window(),
		},
		unread:       v.Unread(),
		settings:     v.Values,
		enabled:      v.Bool(setting.JobEnable),
		clusterRows:  v.Int(setting.ClusterRowsLimit),
		timed:        v.Rates() != nil,
		workers:      int(min(v.Int(setting.ScanWorkerCount), v.Int(setting.DeleteWorkerCount))),
		floorSet:     v.Said(setting.ThrottleFloor),
		indexScan:    v.Bool(setting.EnableIndexScan),
		brake:        plan.NewBrake(v.Values),
		allowReplica: v.Bool(setting.AllowReplica),
		jobTimeout:   v.Duration(setting.JobTimeout),
		floor:        v.Values[setting.DateFloor],
		historyDays:  v.Int(setting.HistoryDays),
	}

	if l.ScanMost > 0 {
		l.MaxChildren = min(l.MaxChildren, l.ScanMost)
	}
	l.RunningTasks, l.CountsTasks = plan.RunningTasks(v.Values, nodes)

	return l
}

// liveEngines counts the nodes that share the work; at least this one.
func (e *Engine) liveEngines(ctx context.Context) (int, error) {
	nodes, err := e.store.Nodes(ctx)
	if err != nil {
		return 0, err
	}
	return plan.Engines(nodes), nil
}
