package report

import (
	"context"
	"errors"
	"slices"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Store is what every list can be read from: a *catalog.Store.
type Store interface {
	Source
	Settings(ctx context.Context) (setting.Reading, error)
	Lineage(ctx context.Context) (catalog.Lineage, error)
	Tasks(ctx context.Context) ([]catalog.Task, error)
	Throttles(ctx context.Context) ([]catalog.Throttle, error)
	History(ctx context.Context, f catalog.Filter) ([]catalog.EndedJob, error)
	RowErrors(ctx context.Context, f catalog.Filter) ([]catalog.RowError, error)
	Events(ctx context.Context, f catalog.Filter) ([]catalog.Event, error)
}

// Load reads one of the lists of SHOW TTL, of every table or of those that the filter names. The
// limit bounds lists that grow with time.
func Load(ctx context.Context, from Store, name ddl.List, f catalog.Filter) (l List, err error) {
	switch name {
	case ddl.ListHistory:
		l, err = listOf(listHistory)(from.History(ctx, f))
	case ddl.ListErrors:
		l, err = listOf(listErrors)(from.RowErrors(ctx, f))
	case ddl.ListEvents:
		l, err = listOf(listEvents)(from.Events(ctx, f))
	case ddl.ListVariables:
		l, err = listOf(listVariables)(shownValues(from.Settings(ctx)))
	case ddl.ListSessions:
		return Sessions(nil), errSessions
	case ddl.ListPartitions:
		return Partitions(f.Table, nil), errPartitions
	default:
		l, err = now(ctx, from, name, f.Table)
	}

	l.Keep(func(r Row) bool { return concerns(f.Table, r.Table) })
	return l, err
}

// errPartitions is why partitions cannot be read from here.
var errPartitions = errors.New("the catalog does not know partitions as they are now (SHOW TTL PARTITIONS FOR …)")

// errSessions is why sessions cannot be read from here.
var errSessions = errors.New("sessions are not in the catalog: their proxy knows them (SHOW TTL SESSIONS)")

// shownValues are the settings as people see them.
func shownValues(r setting.Reading, err error) (setting.Values, error) { return r.Shown(), err }

// listOf makes a list of the results of a query.
func listOf[T any](list func(T) List) func(T, error) (List, error) {
	return func(v T, err error) (List, error) { return list(v), err }
}

// concerns reports whether a row about t belongs to a list narrowed to what of names.
func concerns(of, t catalog.Table) bool {
	return (of.Schema == "" || of.Schema == t.Schema) && (of.Name == "" || of.Name == t.Name)
}

// now reads one of the lists about this moment.
func now(ctx context.Context, from Store, name ddl.List, of catalog.Table) (List, error) {
	if name == ddl.ListTasks || name == ddl.ListNodes {
		return working(ctx, from, name)
	}
	if name == ddl.ListThrottle {
		return throttle(ctx, from)
	}

	s, err := Read(ctx, from)
	if err != nil {
		return List{}, err
	}

	if name == ddl.ListStatus {
		lineage, err := from.Lineage(ctx)
		return Status(s, lineage), err
	}

	s.Policies = slices.DeleteFunc(s.Policies, func(p *catalog.Policy) bool { return !concerns(of, p.Table) })
	if name == ddl.ListTables {
		return listTables(s), nil
	}

	return listJobs(s), nil
}

// working reads one of the lists of tasks, which need neither policies nor history.
func working(ctx context.Context, from Store, name ddl.List) (l List, err error) {
	s := &Snapshot{}
	if s.Nodes, err = from.Nodes(ctx); err != nil {
		return l, err
	}

	slices.SortFunc(s.Nodes, byID)
	if name == ddl.ListTasks {
		if s.Jobs, err = from.Jobs(ctx); err != nil {
			return l, err
		}
	}

	tasks, err := from.Tasks(ctx)
	if name == ddl.ListNodes {
		return listNodes(s, tasks), err
	}

	return listTasks(s, tasks), err
}

// throttle reads what may hold deletion back.
func throttle(ctx context.Context, from Store) (l List, err error) {
	s := &Snapshot{}
	if s.Nodes, err = from.Nodes(ctx); err != nil {
		return l, err
	}
	all, err := from.Throttles(ctx)
	return listThrottle(s, all), err
}

// Empty is one of the lists without its rows, for its columns.
func Empty(name ddl.List) (l List) {
	none := &Snapshot{}
	switch name {
	case ddl.ListTables:
		l = listTables(none)
	case ddl.ListJobs:
		l = listJobs(none)
	case ddl.ListTasks:
		l = listTasks(none, nil)
	case ddl.ListHistory:
		l = listHistory(nil)
	case ddl.ListErrors:
		l = listErrors(nil)
	case ddl.ListNodes:
		l = listNodes(none, nil)
	case ddl.ListEvents:
		l = listEvents(nil)
	case ddl.ListVariables:
		l = listVariables(nil)
	case ddl.ListSessions:
		l = Sessions(nil)
	case ddl.ListPartitions:
		l = Partitions(catalog.Table{}, nil)
	case ddl.ListThrottle:
		l = listThrottle(none, nil)
	case ddl.ListStatus:
		l = Status(none, catalog.Lineage{})
	}

	l.Rows = nil
	return l
}
