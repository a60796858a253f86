package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// someStore is a catalog with one job half done and one table that waits.
type someStore struct{ report.Store }

var someTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (someStore) Clock(context.Context) (time.Time, error)       { return someTime, nil }
func (someStore) Values(context.Context) (setting.Values, error) { return setting.Defaults(), nil }

func (someStore) Settings(context.Context) (setting.Reading, error) {
	return setting.NewReading(1), nil
}

func (someStore) ServerPause(context.Context, bool) (string, error) { return "", nil }

func (someStore) Tasks(context.Context) ([]catalog.Task, error) { return nil, nil }
func (someStore) PastAgain(context.Context) (map[uint64]*catalog.Past, error) {
	return nil, nil
}

func (someStore) GlobalPause(context.Context) (catalog.GlobalPause, error) {
	return catalog.GlobalPause{}, nil
}

func (someStore) Lineage(context.Context) (catalog.Lineage, error) { return catalog.Lineage{}, nil }

func (someStore) PoliciesAgain(context.Context) ([]*catalog.Policy, error) {
	rule := catalog.Rule{Column: "at", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1h"}
	terms, err := rule.Terms()
	return []*catalog.Policy{
		{
			ID: 1, Table: catalog.Table{Schema: "shop", Name: "orders"}, State: catalog.PolicyArmed, Rule: rule,
			Terms: terms, ChangedAt: someTime.Add(-time.Hour),
		},
		{
			ID: 2, Table: catalog.Table{Schema: "shop", Name: "visits"}, State: catalog.PolicyArmed, Rule: rule,
			Terms: terms, ChangedAt: someTime.Add(-time.Hour),
		},
	}, err
}

func (someStore) Jobs(context.Context) ([]catalog.Job, error) {
	return []catalog.Job{{
		ID: 7, PolicyID: 1, Table: catalog.Table{Schema: "shop", Name: "orders"}, State: catalog.JobRunning,
		CreatedAt: someTime.Add(-time.Minute),
		JobFacts:  catalog.JobFacts{Plan: "index", EstimatedRows: new(uint64(1200))},
		Counts:    catalog.Counts{Deleted: 600},
	}}, nil
}

func (someStore) Nodes(context.Context) ([]catalog.Node, error) {
	return []catalog.Node{{ID: 1, Name: "a", Engine: true, Live: true}}, nil
}

func TestStatusOverview(t *testing.T) {
	t.Parallel()
	for columns, want := range map[int]string{
		0: `2026-03-01 12:00:00+00:00  deleting  tables with a TTL: 2, proxies: 1, engines: 1

TABLE        PROGRESS                     DELETED  ROWS/S  BEHIND  NEXT     VERDICT
shop.orders  [##########----------]  50%  600      10              1m left  KEEPING UP
shop.visits                                                        in 0s    WAITING (the first job has not started)
`,
		80: `2026-03-01 12:00:00+00:00  deleting  tables with a TTL: 2, proxies: 1, engines: 1

TABLE        DONE  DELETED  ROWS/S  BEHIND  NEXT     VERDICT
shop.orders   50%  600      10              1m left  KEEPING UP
shop.visits                                 in 0s    WAITING (the first job has not started)
`,
	} {
		var b strings.Builder
		if err := overview(t.Context(), &b, screen{columns: columns}, someStore{}); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("%d columns: got\n%swant\n%s", columns, b.String(), want)
		}
	}
}

func TestScreenClips(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		screen        screen
		picture, want string
	}{
		{screen{}, "one\ntwo\n", "one\ntwo\n"},
		{screen{3, 3}, "one\ntwo\n", "one\ntwo\n"},
		{screen{2, 3}, "−ne\ntwo\n", "−…\nt…\n"},
		{screen{20, 3}, "one\ntwo\nthree\nfour\n", "one\n… 3 more lines\n"},
		{screen{20, 1}, "one\ntwo\n", "… 2 more lines\n"},
	} {
		if got := c.screen.clip(c.picture); got != c.want {
			t.Errorf("%v of %q: got %q, want %q", c.screen, c.picture, got, c.want)
		}
	}
}

func TestBrief(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 22400 * time.Millisecond: "22s", 252 * time.Second: "4m12s", 65 * time.Minute: "1h05m",
		936*time.Hour + 25*time.Second: "39d0h",
	} {
		if got := brief(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

func TestStatusOfEveryListInBothForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ list, format, want string }{
		{"", "json", `"rows_deleted": 600`},
		{"jobs", "json", `"percent": 50`},
		{"tables", "table", "shop          orders"},
		{"nodes", "table", "NODE_ID"},
		{"jobs", "vertical", "      Rows_deleted: 600\n"},
		{"status", "table", "Tables_waiting"},
		{"variables", "table", "tidb_ttl_job_enable"},
	} {
		var args []string
		if c.list != "" {
			args = []string{c.list}
		}

		view, err := newStatusView(&options{StatusFormat: c.format}, args)
		if err != nil {
			t.Fatal(err)
		}

		var b strings.Builder
		if err := view(t.Context(), &b, screen{}, someStore{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.want) {
			t.Errorf("%s as %s: got\n%swant %s in it", c.list, c.format, b.String(), c.want)
		}
	}

	if _, err := newStatusView(&options{}, []string{"job"}); err == nil ||
		!strings.Contains(err.Error(), "did you mean jobs") {
		t.Errorf("a wrong list: %v", err)
	}
}

func (someStore) Shares(context.Context) ([]catalog.Throttle, error) { return nil, nil }

func (someStore) StuckAhead(context.Context) (map[uint64]string, error) { return nil, nil }

func (someStore) Holds(context.Context) (map[uint64]catalog.Holds, error) { return nil, nil }
