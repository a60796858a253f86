package ttl

import (
	"context"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// tasks splits the work: keys are cut evenly, the index on time by time, and tables without a key
// are one range. If nothing is due there are none, and the job ends as soon as it begins.
func (t *starter) tasks(ctx context.Context, x prospect) ([]catalog.TaskRange, error) {
	var ranges []plan.Range
	var err error
	count := plan.TaskCount(x.choice.Way, x.estimate, t.limits().RunningTasks)

	switch {
	case x.choice.Way == plan.GoWhole:
		return []catalog.TaskRange{{}}, nil
	case x.choice.Way == plan.Refuse, x.estimate.Nothing:
		return nil, nil
	case x.choice.Way == plan.DrainQueue:
		return t.shards(ctx, x)
	case x.choice.Way == plan.WalkRange, x.choice.Way == plan.Census:
		ranges, err = x.statements.Split(ctx, t.session, x.estimate, count)
	case x.choice.Way == plan.WalkIndex:
		ranges, err = x.statements.SplitByTime(ctx, t.session, x.estimate, count)
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
