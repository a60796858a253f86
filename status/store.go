package status

import (
	"context"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// Store is what the listener asks of the catalog; *catalog.Store is one.
type Store interface {
	Reads
	Changes
}

// Reads are its queries.
type Reads interface {
	report.Starts
	Server() catalog.Server
	Settings(ctx context.Context) (setting.Reading, error)
	Identities(ctx context.Context, policy uint64) (tables.Incarnation, error)
	Departures(ctx context.Context, policy uint64) ([]catalog.Departure, error)
	StillKept(ctx context.Context, d catalog.Departure) (bool, error)
	Share(ctx context.Context) (catalog.Throttle, error)
	Name(table string) string
	Stored(t catalog.Table) catalog.Table
	Policy(ctx context.Context, t catalog.Table) (catalog.Policy, error)
	Tasks(ctx context.Context) ([]catalog.Task, error)
	TasksOf(ctx context.Context, job uint64) ([]catalog.Task, error)
	Runs(ctx context.Context, policy uint64) ([]catalog.Run, error)
	Census(ctx context.Context, policy uint64) (time.Time, error)
	History(ctx context.Context, f catalog.Filter) ([]catalog.EndedJob, error)
	Throttles(ctx context.Context) ([]catalog.Throttle, error)
	Leases(ctx context.Context) ([]catalog.Lease, error)
	Events(ctx context.Context, f catalog.Filter) ([]catalog.Event, error)
	RowErrors(ctx context.Context, f catalog.Filter) ([]catalog.RowError, error)
	Samples(ctx context.Context, since time.Time) ([]catalog.Sample, error)
	Inflows(ctx context.Context, since time.Time) ([]catalog.Inflow, error)
}

// Changes are what the actions do. Each returns only when it has taken effect: after Pause and
// Cancel no further row is deleted.
type Changes interface {
	Pause(ctx context.Context, actor string, policy uint64, reason string, until time.Time) error
	Resume(ctx context.Context, actor string, policy uint64) error
	Cancel(ctx context.Context, actor string, policy uint64) ([]uint64, error)
	RequestRun(ctx context.Context, actor string, policy uint64) (asked time.Time, err error)
	Consent(ctx context.Context, actor string, policy, version uint64, c catalog.Consent) (rows *uint64, err error)
}
