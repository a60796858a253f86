package status

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
)

// snapshotAge is for how long one look at the catalog serves everybody: a hundred open pages cost what one costs.
const snapshotAge = time.Second

// viewer looks at the catalog, at most once in snapshotAge.
type viewer struct {
	reads Reads

	mu   sync.Mutex // held while looking, so that those who come meanwhile share the answer
	last *look
	at   time.Time
}

// look is what the catalog said at one moment.
type look struct {
	report.Snapshot
	tasks  []catalog.Task
	leases []catalog.Lease
}

// tasksOf is how many tasks a node works on.
func (l *look) tasksOf(node uint64) (n int) {
	for i := range l.tasks {
		if l.tasks[i].State == catalog.TaskRunning && l.tasks[i].Owner == node {
			n++
		}
	}
	return n
}

// leads reports whether a node starts the jobs of all.
func (l *look) leads(node uint64) bool {
	return slices.ContainsFunc(l.leases, func(lease catalog.Lease) bool { return lease.Name == scheduler && lease.Node == node })
}

// scheduler is the lease that package ttl starts jobs under.
const scheduler = "scheduler"

func newViewer(reads Reads) *viewer { return &viewer{reads: reads} }

// look returns what the catalog says, or said less than snapshotAge ago.
func (v *viewer) look(ctx context.Context) (*look, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last != nil && time.Since(v.at) < snapshotAge {
		return v.last, nil
	}
	l, err := takeLook(ctx, v.reads)
	if err != nil {
		return nil, err
	}
	v.last, v.at = l, time.Now()
	return l, nil
}

// forget makes the next look a fresh one: somebody has just changed something.
func (v *viewer) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = nil
}

// lookConnections bounds the connections that one look takes: statements of clients share them.
const lookConnections = 3

// takeLook reads everything at the same time. The parts are moments apart, which the words for people can bear.
func takeLook(ctx context.Context, from Reads) (*look, error) {
	l := &look{}
	var values catalog.Values
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(lookConnections)
	g.Go(func() (err error) { l.Now, err = from.Clock(ctx); return err })
	g.Go(func() (err error) { values, err = from.Values(ctx); return err })
	g.Go(func() (err error) { l.Pause, err = from.GlobalPause(ctx); return err })
	g.Go(func() (err error) { l.Policies, err = from.Policies(ctx); return err })
	g.Go(func() (err error) { l.Schedules, err = from.Schedules(ctx); return err })
	g.Go(func() (err error) { l.Jobs, err = from.Jobs(ctx); return err })
	g.Go(func() (err error) { l.Last, err = from.LastJobs(ctx); return err })
	g.Go(func() (err error) { l.Nodes, err = from.Nodes(ctx); return err })
	g.Go(func() (err error) { l.tasks, err = from.Tasks(ctx); return err })
	g.Go(func() (err error) { l.leases, err = from.Leases(ctx); return err })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	l.Enabled = values.Bool(catalog.JobEnable)
	return l, nil
}
