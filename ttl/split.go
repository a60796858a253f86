package ttl

import (
	"context"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

const (
	// taskRows is how many rows justify a task of their own, dueRows how many that are due do by the
	// index on time.
	taskRows = 100_000
	dueRows  = 20_000
	maxTasks = 64
)

// tasks splits the work: keys are cut evenly, the index on time by time, and tables without a key
// are one range. If nothing is due there are none, and the job ends as soon as it begins.
func (t *starter) tasks(ctx context.Context, x prospect) ([]catalog.TaskRange, error) {
	var ranges []plan.Range
	var err error
	running := t.limits().RunningTasks

	switch {
	case x.choice.Way == plan.GoWhole:
		return []catalog.TaskRange{{}}, nil
	case x.choice.Way == plan.Refuse, x.estimate.Nothing:
		return nil, nil
	case x.choice.Way == plan.DrainQueue:
		return t.shards(ctx, x)
	case x.choice.Way == plan.WalkRange, x.choice.Way == plan.Census:
		ranges, err = x.statements.Split(ctx, t.session, x.estimate, taskCount(x.estimate.Rows, taskRows, running))
	case x.choice.Way == plan.WalkIndex:
		ranges, err = x.statements.SplitByTime(ctx, t.session, x.estimate,
			taskCount(x.estimate.Expired, dueRows, running))
	default:
		ranges = []plan.Range{{}}
	}
	if err != nil {
		return nil, fmt.Errorf("split %s: %w", x.statements.Target.Name(), err)
	}

	tasks := make([]catalog.TaskRange, len(ranges))
	for i, r := range ranges {
		tasks[i] = catalog.TaskRange{Start: r.From.Encode(), End: r.To.Encode()}
	}

	return tasks, nil
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
