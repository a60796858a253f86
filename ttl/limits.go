package ttl

import (
	"context"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// limits are the settings by which the engine works, read again every few seconds, and as soon as
// something was refused that had been decided by older ones.
type limits struct {
	revision     uint64        // of the settings
	enabled      bool          // ttl_job_enable
	scanBatch    int           // ttl_scan_batch_size: keys a statement reads
	scanMost     int           // the same once it is set: rows a statement looks through; 0 for any number
	deleteBatch  int           // ttl_delete_batch_size: keys a statement names
	deleteMost   int           // the same once it is set: rows a statement deletes; 0 for any number
	clusterRows  int64         // ttl_cluster_rows_limit
	workers      int           // tasks worked on at once by this node
	runningTasks int           // ttl_running_tasks, -1 resolved
	countsTasks  bool          // there may be more workers than that: whoever claims a task has to count
	indexScan    bool          // ttl_enable_index_scan
	target       time.Duration // ttl_batch_target_ms
	brake        plan.Brake    // ttl_brake_max_rows, ttl_brake_rows, ttl_brake_percent
	allowReplica bool          // ttl_allow_replica
	jobTimeout   time.Duration // ttl_job_timeout
	floor        string        // ttl_date_floor
	historyDays  int64         // ttl_history_days
	nodes        int           // live engines
	window       *ddl.Window   // ttl_job_schedule_window_start_time and _end_time, in UTC
}

// readLimits adopts the settings, so that a change takes effect on every node within seconds.
func (e *Engine) readLimits(ctx context.Context) error {
	e.reading.Lock()
	defer e.reading.Unlock()

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
	e.metrics.workers.Set(float64(l.workers))

	rows := v.Int(setting.DeleteRowsLimit)
	if share := l.clusterRows / int64(nodes); l.clusterRows > 0 && (rows == 0 || share < rows) {
		rows = max(share, 1)
	}

	e.rates.Set(v.Int(setting.DeleteRateLimit), rows, v.Int(setting.ScanRateLimit))
	e.limits.Store(&l) // when everything else follows them: a task that is claimed under this revision does, too
	return nil
}

func limitsOf(v setting.Reading, nodes int) limits {
	l := limits{
		revision:     v.Revision,
		nodes:        nodes,
		enabled:      v.Bool(setting.JobEnable),
		scanBatch:    int(v.Int(setting.ScanBatchSize)),
		scanMost:     v.Bound(setting.ScanBatchSize),
		deleteBatch:  int(v.Int(setting.DeleteBatchSize)),
		deleteMost:   v.Bound(setting.DeleteBatchSize),
		clusterRows:  v.Int(setting.ClusterRowsLimit),
		workers:      int(min(v.Int(setting.ScanWorkerCount), v.Int(setting.DeleteWorkerCount))),
		runningTasks: int(v.Int(setting.RunningTasks)),
		indexScan:    v.Bool(setting.EnableIndexScan),
		target:       time.Duration(v.Int(setting.BatchTargetMS)) * time.Millisecond,
		brake:        plan.NewBrake(v.Values),
		allowReplica: v.Bool(setting.AllowReplica),
		jobTimeout:   v.Duration(setting.JobTimeout),
		floor:        v.Values[setting.DateFloor],
		historyDays:  v.Int(setting.HistoryDays),
		window:       v.Window(),
	}
	if l.countsTasks = true; l.runningTasks < 0 {
		all := nodes * int(v.Int(setting.ScanWorkerCount))
		l.runningTasks = min(all, mostTasks)
		l.countsTasks = all > mostTasks // otherwise the workers are no more
	}

	return l
}

// mostTasks run at a time when ttl_running_tasks says nothing else.
const mostTasks = 256

// liveEngines counts the nodes that share the work; at least this one.
func (e *Engine) liveEngines(ctx context.Context) (int, error) {
	nodes, err := e.store.Nodes(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, node := range nodes {
		if node.Live && node.Engine {
			n++
		}
	}
	return max(n, 1), nil
}
