package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// Source is where the facts come from: a *catalog.Store.
type Source interface {
	Clock(ctx context.Context) (time.Time, error)
	Values(ctx context.Context) (catalog.Values, error)
	GlobalPause(ctx context.Context) (catalog.GlobalPause, error)
	Policies(ctx context.Context) ([]catalog.Policy, error)
	Schedules(ctx context.Context) ([]catalog.Schedule, error)
	Jobs(ctx context.Context) ([]catalog.Job, error)
	LastJobs(ctx context.Context) ([]catalog.EndedJob, error)
	Nodes(ctx context.Context) ([]catalog.Node, error)
}

// Read takes a snapshot. Its parts are read one after the other, so a job may end between two of them; jobs are read before
// the history, so that none is missed.
func Read(ctx context.Context, from Source) (*Snapshot, error) {
	s := &Snapshot{}
	values, err := from.Values(ctx)
	if err != nil {
		return nil, err
	}
	s.Enabled, s.Window = values.Bool(catalog.JobEnable), values.Window()
	steps := []func() error{
		read(ctx, from.Clock, &s.Now),
		read(ctx, from.GlobalPause, &s.Pause),
		read(ctx, from.Policies, &s.Policies),
		read(ctx, from.Schedules, &s.Schedules),
		read(ctx, from.Jobs, &s.Jobs),
		read(ctx, from.LastJobs, &s.Last),
		read(ctx, from.Nodes, &s.Nodes),
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(s.Nodes, func(a, b catalog.Node) int { return cmp.Compare(a.ID, b.ID) })
	return s, nil
}

func read[T any](ctx context.Context, question func(context.Context) (T, error), into *T) func() error {
	return func() (err error) {
		*into, err = question(ctx)
		return err
	}
}
