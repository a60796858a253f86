package ttl

import (
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// workLimits are the settings by which workers work.
type workLimits struct {
	revision     uint64        // of the settings
	scanBatch    int           // ttl_scan_batch_size: keys a statement reads
	scanMost     int           // the same once it is set: rows a statement looks through; 0 for any number
	deleteBatch  int           // ttl_delete_batch_size: keys a statement names
	deleteMost   int           // the same once it is set: rows a statement deletes; 0 for any number
	runningTasks int           // ttl_running_tasks, -1 resolved
	countsTasks  bool          // there may be more workers than that: whoever claims a task has to count
	target       time.Duration // ttl_batch_target_ms
	nodes        int           // live engines
	window       *ddl.Window   // ttl_job_schedule_window_start_time and _end_time, in UTC
}
