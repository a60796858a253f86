package status

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/panics"
)

// snapshotAge is how long one reading of the catalog serves everybody: a hundred open pages cost as
// much as one.
const snapshotAge = time.Second

// viewer reads the catalog, at most once in snapshotAge.
type viewer struct {
	reads Reads

	mu   sync.Mutex // held while reading, so that those who come meanwhile share the answer
	last *snapshot
	at   time.Time
}

// snapshot is what the catalog said at one moment.
type snapshot struct {
	report.Snapshot
	tasks     []catalog.Task
	leases    []catalog.Lease
	throttles []catalog.Throttle
}

// tasksOf is how many tasks a node works on.
func (l *snapshot) tasksOf(node uint64) (n int) {
	for i := range l.tasks {
		if l.tasks[i].State == catalog.TaskRunning && l.tasks[i].Owner == node {
			n++
		}
	}
	return n
}

// leads reports whether a node starts the jobs of all.
func (l *snapshot) leads(node uint64) bool {
	return slices.ContainsFunc(l.leases,
		func(lease catalog.Lease) bool { return lease.Name == scheduler && lease.Node == node })
}

// scheduler is the lease that package ttl starts jobs under.
const scheduler = "scheduler"

func newViewer(reads Reads) *viewer { return &viewer{reads: reads} }

// read returns what the catalog says, or said less than snapshotAge ago.
func (v *viewer) read(ctx context.Context) (*snapshot, error) {
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

// forget makes the next reading a fresh one: somebody has just changed something.
func (v *viewer) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = nil
}

// takeLook reads what the lists of SHOW TTL are made of, and what only the page shows.
func takeLook(ctx context.Context, from Reads) (*snapshot, error) {
	l := &snapshot{}
	g, ctx := panics.WithContext(ctx)

	g.Go(func() error {
		s, err := report.Read(ctx, from)
		if err == nil {
			l.Snapshot = *s
		}
		return err
	})
	g.Go(func() (err error) {
		if l.tasks, err = from.Tasks(ctx); err != nil {
			return err
		}
		if l.leases, err = from.Leases(ctx); err != nil {
			return err
		}
		l.throttles, err = from.Throttles(ctx)
		return err
	})

	return l, g.Wait()
}
