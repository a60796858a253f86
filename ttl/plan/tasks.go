package plan

import (
	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

const (
	// taskRows is how many rows justify a task of their own, dueRows how many that are due do by the
	// index on time.
	taskRows = 100_000
	dueRows  = 20_000
	maxTasks = 64
	// mostRunning run at a time when ttl_running_tasks says nothing else.
	mostRunning = 256
)

// TaskCount is into how many tasks a job is split that goes this way, if so many tasks run at a time.
func TaskCount(way Way, e Estimate, running int) int {
	switch way {
	case WalkRange, Census:
		return taskCount(e.Rows, taskRows, running)
	case WalkIndex:
		return taskCount(e.Expired, dueRows, running)
	default:
		return 1
	}
}

// taskCount is one task for so many rows each. If there are several, their number is a multiple of those
// that run at a time, so that no worker is without one while the others still have theirs; they are
// not cut below half for that.
func taskCount(rows, each int64, running int) int {
	n := int(min(rows/each, maxTasks))
	running = min(max(running, 1), 2*n)
	if n <= 1 {
		return 1
	}
	return min((n+running-1)/running*running, maxTasks)
}

// RunningTasks is how many tasks run at a time on so many nodes, and whether there are workers for more.
func RunningTasks(v setting.Values, nodes int) (running int, scarce bool) {
	if n := int(v.Int(setting.RunningTasks)); n >= 0 {
		return n, true
	}
	all := nodes * int(v.Int(setting.ScanWorkerCount))
	return min(all, mostRunning), all > mostRunning
}

// Engines counts the nodes that share the work; there is always one, whoever asks.
func Engines(nodes []catalog.Node) (n int) {
	for _, node := range nodes {
		if node.Live && node.Engine {
			n++
		}
	}
	return max(n, 1)
}
