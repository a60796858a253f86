package work

import (
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Limits are the settings by which workers work.
type Limits struct {
	Revision          uint64        // of the settings
	ScanBatch         int           // ttl_scan_batch_size: keys a statement reads
	ScanMost          int           // the same once it is set: rows a statement looks through; 0 for any number
	DeleteBatch       int           // ttl_delete_batch_size: keys a statement names
	DeleteMost        int           // the same once it is set: rows a statement deletes; 0 for any number
	MaxChildren       int           // ttl_fk_max_children, and no more than ScanMost
	PartitionLockWait time.Duration // ttl_partition_lock_wait
	RunningTasks      int           // ttl_running_tasks, -1 resolved
	CountsTasks       bool          // there may be more workers than that: whoever claims a task has to count
	Target            time.Duration // ttl_batch_target_ms
	Nodes             int           // live engines
	Window            *ddl.Window   // ttl_job_schedule_window_start_time and _end_time, in UTC
}

// Share is a node's part of what all engines together may do; of no limit there is none.
func (l *Limits) Share(all int64) float64 { return float64(max(all, 0)) / float64(max(l.Nodes, 1)) }
