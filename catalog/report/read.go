package report

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/panics"
)

// Source is where the facts come from: a *catalog.Store.
type Source interface {
	Clock(ctx context.Context) (time.Time, error)
	Values(ctx context.Context) (setting.Values, error)
	GlobalPause(ctx context.Context) (catalog.GlobalPause, error)
	ServerPause(ctx context.Context, allowReplica bool) (string, error)
	PoliciesAgain(ctx context.Context) ([]*catalog.Policy, error)
	Jobs(ctx context.Context) ([]catalog.Job, error)
	PastAgain(ctx context.Context) (map[uint64]*catalog.Past, error)
	Nodes(ctx context.Context) ([]catalog.Node, error)
	Shares(ctx context.Context) ([]catalog.Throttle, error)
	StuckAhead(ctx context.Context) (map[uint64]string, error)
	Holds(ctx context.Context) (map[uint64]catalog.Holds, error)
}

// Starts is a Source that can be asked about one policy alone, and whether a job of it has started.
type Starts interface {
	Source
	PolicyByID(ctx context.Context, id uint64) (catalog.Policy, error)
	PastOf(ctx context.Context, policy uint64) (map[uint64]*catalog.Past, error)
	LastJob(ctx context.Context, policy uint64) (uint64, error)
}

// ofOne knows no policy but one.
type ofOne struct {
	Starts
	policy uint64
}

func (o ofOne) PoliciesAgain(ctx context.Context) ([]*catalog.Policy, error) {
	p, err := o.PolicyByID(ctx, o.policy)
	if errors.Is(err, catalog.ErrNoPolicy) {
		return nil, nil
	}
	return []*catalog.Policy{&p}, err
}

func (o ofOne) PastAgain(ctx context.Context) (map[uint64]*catalog.Past, error) {
	return o.PastOf(ctx, o.policy)
}

// ReadOf is Read for those who want to know about one policy: there may be a thousand others.
func ReadOf(ctx context.Context, from Starts, policy uint64) (*Snapshot, error) {
	return Read(ctx, ofOne{from, policy})
}

// readConnections bounds the connections that one reading takes: clients' statements share them.
const readConnections = 3

// Read takes a snapshot; whoever reports the catalog's state reads it here. The parts are moments
// apart, so a job may end between two of them: jobs are read before the history, so that none is
// missed.
func Read(ctx context.Context, from Source) (*Snapshot, error) {
	s := &Snapshot{}
	var values setting.Values
	var shares []catalog.Throttle
	g, ctx := panics.WithContext(ctx)
	g.SetLimit(readConnections)

	// What takes longest comes first.
	g.Go(func() error { return readJobs(ctx, from, s) })
	g.Go(func() error { return readPolicies(ctx, from, s) })
	g.Go(func() error { return read(ctx, from.Clock, &s.Now) })
	g.Go(func() error { return readServer(ctx, from, &values, s) })
	g.Go(func() error { return read(ctx, from.GlobalPause, &s.Pause) })
	g.Go(func() error { return read(ctx, from.Nodes, &s.Nodes) })
	g.Go(func() error { return read(ctx, from.Shares, &shares) })
	g.Go(func() error { return read(ctx, from.Holds, &s.Holds) })

	if err := g.Wait(); err != nil {
		return nil, err
	}

	s.Enabled, s.Window = values.Bool(setting.JobEnable), values.Window()
	slices.SortFunc(s.Nodes, byID)
	s.Throttle = s.together(shares)
	return s, nil
}

func byID(a, b catalog.Node) int { return cmp.Compare(a.ID, b.ID) }

// readJobs reads the open ones before those that have ended.
func readJobs(ctx context.Context, from Source, s *Snapshot) (err error) {
	if s.Jobs, err = from.Jobs(ctx); err != nil {
		return err
	}
	s.Past, err = from.PastAgain(ctx)
	return err
}

// readServer reads the settings, and by them what about the server keeps everything from being deleted: from the server
// itself, since a node may not be able to write it down then.
func readServer(ctx context.Context, from Source, values *setting.Values, s *Snapshot) (err error) {
	if *values, err = from.Values(ctx); err != nil {
		return err
	}
	s.Server, err = from.ServerPause(ctx, values.Bool(setting.AllowReplica))
	return err
}

// readPolicies reads, where some have partitions made for them, also why that cannot be done.
func readPolicies(ctx context.Context, from Source, s *Snapshot) (err error) {
	if s.Policies, err = from.PoliciesAgain(ctx); err != nil {
		return err
	}
	if slices.ContainsFunc(s.Policies, func(p *catalog.Policy) bool { return p.Terms.Options.Ahead > 0 }) {
		s.Stuck, err = from.StuckAhead(ctx)
	}
	return err
}

// read puts an answer where it belongs.
func read[T any](ctx context.Context, question func(context.Context) (T, error), into *T) (err error) {
	*into, err = question(ctx)
	return err
}
