package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/status"
	"github.com/ttlproxy/ttlproxy/ttl"
)

// metric is one of ours, as its description tells.
type metric struct {
	name, kind, help string
	labels           []string
}

// listed is a registerer that only notes what is registered.
type listed struct {
	metrics map[string]metric
}

func (l *listed) Register(c prometheus.Collector) error { l.note(c); return nil }
func (l *listed) Unregister(prometheus.Collector) bool  { return false }
func (l *listed) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		l.note(c)
	}
}

var descForm = regexp.MustCompile(`^Desc\{fqName: "(\w+)", help: "(.*?)",(?: unit: ".*",)? constLabels: \{\}, variableLabels: \{(.*)\}\}$`)

func (l *listed) note(c prometheus.Collector) {
	kind := "gauge"
	switch c.(type) {
	case prometheus.Histogram, *prometheus.HistogramVec:
		kind = "histogram"
	case *prometheus.GaugeVec, prometheus.Gauge:
	case prometheus.Counter, *prometheus.CounterVec:
		kind = "counter"
	}

	descs := make(chan *prometheus.Desc, 100)
	c.Describe(descs)
	close(descs)

	for d := range descs {
		parts := descForm.FindStringSubmatch(d.String())
		if parts == nil {
			panic("metrics of ours have no constant labels: " + d.String())
		}

		kind := kind
		switch c.(type) {
		case *proxy.Backends, *proxy.Server: // have both, and only the name says which is which
			if strings.HasSuffix(parts[1], "_total") {
				kind = "counter"
			}
		}

		m := metric{name: parts[1], kind: kind, help: strings.ReplaceAll(parts[2], `\"`, `"`)}
		if parts[3] != "" {
			m.labels = strings.Split(parts[3], ",")
		}

		l.metrics[m.name] = m
	}
}

// allMetrics are all that serve registers, but those of Go and of the process.
func allMetrics(t *testing.T) map[string]metric {
	t.Helper()
	l := &listed{metrics: map[string]metric{}}
	backends, err := proxy.NewBackends(proxy.BackendsConfig{Addresses: []string{"127.0.0.1:3306"}},
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	proxy.NewMetrics(l)
	catalog.NewMetrics(l)
	ttl.NewMetrics(l)
	newReloadMetrics(l)
	newPanicMetric(l)
	l.MustRegister(backends, new(proxy.Server), status.NewCollector(nil, slog.New(slog.DiscardHandler)))
	return l.metrics
}

func TestMetricsPageIsCurrent(t *testing.T) {
	var b bytes.Buffer
	writeMetrics(&b, allMetrics(t))
	path := filepath.Join("..", "..", "docs", "reference", "metrics.md")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(page, b.Bytes()) {
		t.Errorf("%s is not what the code says (%v): run `make docs`", path, err)
	}
}

func writeMetrics(w io.Writer, all map[string]metric) {
	fmt.Fprint(w, `# Metrics

Served on `+"`/metrics`"+` of the `+"`--status`"+` address, together with those of the Go runtime (`+"`go_…`"+`) and of the process
(`+"`process_…`"+`). This page is written from the code by `+"`make docs`"+`. How to use them: [monitoring](../how-to/monitoring.md).

Metrics that a node counts by itself are to be summed over the instances. Those read from the catalog (from
`+"`ttlproxy_catalog_up`"+`'s collector: everything about policies, jobs, tasks, nodes and tables) are the same from every
instance: take `+"`max by (…)`"+`, not `+"`sum`"+`. Names of at most 200 tables appear; the rest is counted under `+"`other`"+`, or in
`+"`ttlproxy_tables_without_metrics`"+`.

| name | type | labels | what it says |
| --- | --- | --- | --- |
`)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m := all[name]
		labels := ""
		for i, l := range m.labels {
			if i > 0 {
				labels += ", "
			}
			labels += "`" + l + "`"
		}

		fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", m.name, m.kind, labels, m.help)
	}
}

// TestMetricsFollowTheConventions holds names and kinds against Prometheus' conventions.
func TestMetricsFollowTheConventions(t *testing.T) {
	for name, m := range allMetrics(t) {
		if !strings.HasPrefix(name, "ttlproxy_") || m.help == "" {
			t.Errorf("%s: without our prefix, or without help", name)
		}
		if (m.kind == "counter") != strings.HasSuffix(name, "_total") {
			t.Errorf("%s is a %s: counters end in _total, and only they", name, m.kind)
		}
		if m.kind == "histogram" && !strings.HasSuffix(name, "_seconds") && !strings.HasSuffix(name, "_rows") {
			t.Errorf("%s: want a unit at the end", name)
		}
	}
}

var ourNames = regexp.MustCompile(`\bttlproxy_\w+`)

// unknownIn returns the names in a text that no metric has.
func unknownIn(text string, all map[string]metric) (unknown []string) {
	for _, name := range ourNames.FindAllString(text, -1) {
		base := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if m, ok := all[strings.TrimSuffix(name, suffix)]; ok && m.kind == "histogram" {
				base = m.name
			}
		}
		if _, ok := all[base]; !ok {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

func TestDashboardKnowsItsMetrics(t *testing.T) {
	text, err := os.ReadFile("../../deploy/grafana/ttlproxy.json")
	if err != nil {
		t.Fatal(err)
	}

	var board struct {
		Panels []struct {
			ID          int
			Type, Title string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}

	all := allMetrics(t)
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")

	for _, p := range board.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			if unknown := unknownIn(target.Expr, all); unknown != nil || target.Expr == "" {
				t.Errorf("panel %q: no metric is named %v", p.Title, unknown)
			}
			fmt.Fprintf(&rules, "  - record: panel:%d\n    expr: %q\n", p.ID, dashboardVariables.Replace(target.Expr))
		}
	}

	path := filepath.Join(t.TempDir(), "dashboard.yml")
	if err := os.WriteFile(path, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}

	promtool(t, "check", "rules", path)
}

// dashboardVariables are those of Grafana, and values that they may have.
var dashboardVariables = strings.NewReplacer(
	"$__rate_interval", "5m",
	"$instance", ".*",
	"$schema", "shop",
	"$table", ".*",
)

// promtool checks a file with Prometheus' own tool.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("there is no promtool to check the rules with: scripts/get-promtool.sh gets it")
		}
		t.Skip("there is no promtool: its checks are left out")
	}
	if out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestAlertsKnowTheirMetrics(t *testing.T) {
	const path = "../../deploy/prometheus/alerts.yml"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if unknown := unknownIn(string(text), allMetrics(t)); unknown != nil {
		t.Errorf("no metric is named %v", unknown)
	}
	promtool(t, "check", "rules", path)
	promtool(t, "test", "rules", "../../deploy/prometheus/alerts_test.yml")
}

// TestEveryAlertFires: there is a moment at which promtool sees each alert fire, and one at which it does not, by
// series that the metrics can have.
func TestEveryAlertFires(t *testing.T) {
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile("../../deploy/prometheus/" + path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	cases := read("alerts_test.yml")
	fires, rests := map[string]bool{}, map[string]bool{}
	expected := regexp.MustCompile(`alertname: (\w+)\n( +exp_alerts:\n +- exp_labels:)?`)
	for _, c := range expected.FindAllStringSubmatch(cases, -1) {
		fires[c[1]] = fires[c[1]] || c[2] != ""
		rests[c[1]] = rests[c[1]] || c[2] == ""
	}

	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(read("alerts.yml"), -1)
	if len(alerts) == 0 {
		t.Error("there are no alerts")
	}
	for _, a := range alerts {
		if !fires[a[1]] || !rests[a[1]] {
			t.Errorf("%s: alerts_test.yml has it fire: %v, and not fire: %v; want both", a[1], fires[a[1]], rests[a[1]])
		}
	}

	all := allMetrics(t)
	all["up"] = metric{labels: []string{"job"}}
	label := regexp.MustCompile(`(\w+)="`)
	for _, series := range regexp.MustCompile(`series: '(\w+){(.*)}'`).FindAllStringSubmatch(cases, -1) {
		m, known := all[series[1]]
		for _, l := range label.FindAllStringSubmatch(series[2], -1) {
			if !known || l[1] != "instance" && !slices.Contains(m.labels, l[1]) {
				t.Errorf("%s has no label %s", series[1], l[1])
			}
		}
	}
}
