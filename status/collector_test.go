package status

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// gathered are the values of a collector's metrics, by name and values of labels.
func gathered(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(c)

	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}

	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "ttlproxy_")
			for _, l := range m.GetLabel() {
				name += " " + l.GetName() + "=" + l.GetValue()
			}
			all[name] = m.GetGauge().GetValue()
		}
	}

	return all
}

func TestMetricsSayWhatTheCatalogSays(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(s *scene) {
		c := NewCollector(s.store, slog.New(slog.DiscardHandler))
		want := func(values map[string]float64) {
			s.Helper()
			c.view.forget()
			got := gathered(s.T, c)
			for _, name := range slices.Sorted(maps.Keys(values)) {
				if v, ok := got[name]; !ok || v != values[name] {
					s.Errorf("%s: got %v (there: %v), want %v", name, v, ok, values[name])
				}
			}
		}

		table := fmt.Sprintf("partition= schema=%s table=session", s.policy.Table.Schema)
		want(map[string]float64{
			"catalog_up": 1, "jobs_enabled": 1, "paused": 0, "held": 0, "tables": 1, "policies state=armed": 1,
			"jobs state=running":         0,
			"nodes engine=on state=live": 1, "watermark_delay_tables delay=none": 1,
			"table_verdict " + table + " verdict=WAITING": 1,
		})

		node, err := s.store.Join(s.Context(), catalog.Node{Name: "n", Engine: true, Workers: 4})
		if err != nil {
			s.Fatal(err)
		}
		if _, err := s.store.Join(s.Context(), catalog.Node{Name: "edge"}); err != nil {
			s.Fatal(err)
		}

		lease, err := s.store.Acquire(s.Context(), scheduler, node, time.Hour)
		if err != nil {
			s.Fatal(err)
		}

		job := s.job()
		if _, err := s.store.ClaimTask(s.Context(), catalog.Claim{Node: node}); err != nil {
			s.Fatal(err)
		}

		want(map[string]float64{
			"jobs state=running": 1, "tasks state=running": 1, "tasks state=waiting": 0, "job_due_rows " + table: 2,
			"nodes engine=on state=live": 2, "nodes engine=off state=live": 1, "nodes engine=on state=vanished": 0,
			"lease_holder lease=scheduler node=n": 1, "lease_fence lease=scheduler": float64(lease.Fence),
			"task_leases node=n": 1, "task_leases node=edge": 0,
		})

		job, err = s.store.LeadJob(s.Context(), job.ID, node)
		if err != nil {
			s.Fatal(err)
		}
		if err := s.store.FinishJob(s.Context(), job.ID, job.Fence, catalog.JobFinished, ""); err != nil {
			s.Fatal(err)
		}
		if err := s.store.Pause(s.Context(), "test", catalog.PauseAll, "", time.Time{}); err != nil {
			s.Fatal(err)
		}

		want(map[string]float64{
			"jobs state=running": 0, "paused": 1, "watermark_delay_tables delay=1h": 1,
			"watermark_delay_tables delay=none": 0, "table_verdict " + table + " verdict=PAUSED": 1,
		})
	})
}

func TestMetricsSayThatTheCatalogIsAway(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(s *scene) {
		c := NewCollector(s.store, slog.New(slog.DiscardHandler))
		if err := s.db.Close(); err != nil {
			s.Fatal(err)
		}
		if got := gathered(s.T, c); len(got) != 1 || got["catalog_up"] != 0 {
			s.Errorf("got %v, want nothing but that it is not up", got)
		}
	})
}

// TestTablesWithMetricsAreTheWorst: whatever wants a person has series of its own, and what has
// none is counted.
func TestTablesWithMetricsAreTheWorst(t *testing.T) {
	t.Parallel()
	const all, disarmed, late, uncovered = 3 * tableMetrics, 2*tableMetrics + 1, 2*tableMetrics + 2, 2*tableMetrics + 3
	const off = all / 2
	now := time.Now()
	var work []*report.Work

	for i := range all {
		last := now.Add(-time.Minute)
		w := &report.Work{Now: now, Policy: &catalog.Policy{
			Version: 1, Table: catalog.Table{Schema: "s", Name: fmt.Sprint("t", i)}, State: catalog.PolicyArmed,
			Rule: catalog.Rule{Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1h"},
		}}
		switch i {
		case uncovered: // WAITING, which is a better verdict than that of half of the tables
			w.Policy.ChangedAt = now.Add(-5 * time.Hour)
			w.Policy.Terms, _ = w.Policy.Rule.Terms()
			work = append(work, w)
			continue
		case disarmed:
			w.Policy.State, w.Policy.Reason = catalog.PolicyDisarmed, "because"
		case late:
			last = now.Add(-50 * time.Minute)
			w.Policy.Rule.Options = map[string]string{ddl.OptionMaxLag: "30m"}
		}

		w.Policy.Rule.Enabled = i >= off
		w.Policy.Terms, _ = w.Policy.Rule.Terms()
		w.Last = &catalog.EndedJob{Job: catalog.Job{State: catalog.JobFinished, CreatedAt: last}, FinishedAt: last}
		w.Ran = []catalog.Schedule{{LastStartedAt: last, Watermark: last, WatermarkVersion: 1}}
		work = append(work, w)
	}

	ch := make(chan prometheus.Metric, 10*all)
	c := NewCollector(nil, slog.New(slog.DiscardHandler))
	c.eachTable(ch, work)
	close(ch)
	var made sent

	for m := range ch {
		made = append(made, m)
	}

	got := gathered(t, made)

	tables := map[string]bool{}
	for name := range got {
		if _, table, ok := strings.Cut(name, "table="); ok {
			tables[strings.Fields(table)[0]] = true
		}
	}

	if len(tables) != tableMetrics {
		t.Errorf("got metrics of %d tables, want %d", len(tables), tableMetrics)
	}

	watermark := float64(now.Add(-50*time.Minute).UnixMilli()) / 1000
	for name, want := range map[string]float64{
		"tables_without_metrics": all - tableMetrics, "tables_late": 2,
		"tables_by_verdict verdict=DISARMED": 1, "tables_by_verdict verdict=FALLING BEHIND": 1,
		"tables_by_verdict verdict=KEEPING UP": all - off - 3, "tables_by_verdict verdict=PAUSED": 0,
		"tables_by_verdict verdict=OFF": off,
		fmt.Sprintf("table_verdict partition= schema=s table=t%d verdict=WAITING", uncovered):   1,
		fmt.Sprintf("table_goal_seconds partition= schema=s table=t%d", uncovered):              7200,
		fmt.Sprintf("table_verdict partition= schema=s table=t%d verdict=DISARMED", disarmed):   1,
		fmt.Sprintf("table_verdict partition= schema=s table=t%d verdict=FALLING BEHIND", late): 1,
		fmt.Sprintf("table_watermark_timestamp_seconds partition= schema=s table=t%d", late):    watermark,
		fmt.Sprintf("table_goal_seconds partition= schema=s table=t%d", late):                   1800,
	} {
		if v, there := got[name]; !there || v != want {
			t.Errorf("%s: got %v (there: %v), want %v", name, v, there, want)
		}
	}
}

// sent is a collector of metrics that have been made already.
type sent []prometheus.Metric

func (s sent) Describe(chan<- *prometheus.Desc) {}

func (s sent) Collect(ch chan<- prometheus.Metric) {
	for _, m := range s {
		ch <- m
	}
}
