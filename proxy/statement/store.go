package statement

import (
	"context"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// catalogStore is what statements ask of the catalog, and tell it.
type catalogStore interface {
	reads
	changes

	report.Store // for lists
	report.Starts
	plan.Source // for previews
	plan.FateSource
}

// reads are its queries, beside those of lists and previews.
type reads interface {
	Server() catalog.Server
	Schema() string
	ReadOnly(ctx context.Context) (bool, error)
	Look(ctx context.Context, t catalog.Table) (tables.Seen, error)

	Reserved(t catalog.Table) error
	SameTable(a, b catalog.Table) bool
	Stored(t catalog.Table) catalog.Table

	Mentioned(ctx context.Context, text string) (bool, error)
	Policy(ctx context.Context, t catalog.Table) (catalog.Policy, error)
	Policies(ctx context.Context) ([]catalog.Policy, error)
	PoliciesIn(ctx context.Context, schema string) ([]catalog.Policy, error)
	LiveViews(ctx context.Context) ([]catalog.LiveView, error)

	Job(ctx context.Context, id uint64) (catalog.Job, error)
	EndedJob(ctx context.Context, job catalog.Job) (catalog.EndedJob, error)
}

// changes are what statements make of policies and settings. Each returns only when it has taken
// effect: no row is deleted afterwards that may not be.
type changes interface {
	Declare(ctx context.Context, who catalog.Client, d catalog.Declaration) (catalog.Policy, error)
	Remove(ctx context.Context, who catalog.Client, t catalog.Table) error
	KeepLiveView(ctx context.Context, account string, v catalog.LiveView) error
	ForgetLiveView(ctx context.Context, view catalog.Table) error
	Stage(ctx context.Context, who catalog.Client, intents []catalog.Intent) (*catalog.Staged, error)

	Pause(ctx context.Context, actor string, policy uint64, reason string, until time.Time) error
	Resume(ctx context.Context, actor string, policy uint64) error
	Cancel(ctx context.Context, actor string, policy uint64) ([]uint64, error)
	RequestRun(ctx context.Context, actor string, policy uint64) (asked time.Time, err error)
	Consent(ctx context.Context, actor string, policy, version uint64, c catalog.Consent) (*uint64, error)

	DropLeftovers(ctx context.Context) error
	Set(ctx context.Context, actor string, values map[string]string) error
	Trust(ctx context.Context, actor, server string) error
}
