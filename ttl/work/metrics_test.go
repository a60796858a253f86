package work

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/catalog"
)

func TestTablesWithMetricsAreBounded(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	for i := range 2 * tablesWithMetrics {
		m.of(catalog.Table{Schema: "s", Name: fmt.Sprintf("t%d", i)}).deleted.Inc()
	}

	m.of(catalog.Table{Schema: "s", Name: "t0"}).deleted.Inc()
	deleted := deletedByTable(t, registry)
	if got, want := len(deleted), tablesWithMetrics+1; got != want {
		t.Errorf("got %d tables, want %d", got, want)
	}
	if got := deleted["other"]; got != tablesWithMetrics {
		t.Errorf("got %v rows under other, want %d", got, tablesWithMetrics)
	}
	if got := deleted["t0"]; got != 2 {
		t.Errorf("got %v rows of the first table, want 2", got)
	}
}

func deletedByTable(t *testing.T, from prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}

	deleted := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "ttlproxy_rows_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["result"] == "deleted" {
				deleted[labels["table"]] = m.GetCounter().GetValue()
			}
		}
	}

	return deleted
}
