package status

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/panics"
)

// tableMetrics bounds the tables with metrics of their own: those with the worst verdicts and those that are late, and
// among these the furthest behind.
const tableMetrics = 200

// collectTimeout bounds the reading of the catalog for one scrape.
const collectTimeout = 5 * time.Second

// delays are the steps of the watermark delay, those of TiDB's panel, and one for tables whose last
// job did not finish.
func delays() []string { return []string{"1h", "2h", "6h", "12h", "24h", "72h", "1w", "more", "none"} }

// delayOf is the step that a table belongs to: the first that its delay is below.
func delayOf(w *report.Work) string {
	if w.Last == nil || w.Last.State != catalog.JobFinished {
		return "none"
	}
	delay := w.Now.Sub(w.Last.CreatedAt)
	for i, hours := range []time.Duration{1, 2, 6, 12, 24, 72, 168} {
		if delay < hours*time.Hour {
			return delays()[i]
		}
	}
	return "more"
}

// Collector tells Prometheus what the catalog says: the state of the installation, the same from
// every proxy. (What a node itself does is counted where it is done.)
type Collector struct {
	view  *viewer
	log   *slog.Logger
	descs descriptions
}

// descriptions are the metrics of a Collector.
type descriptions struct {
	up, enabled, paused, held                *prometheus.Desc
	halted, nodeStopped                      *prometheus.Desc
	policies, jobs, tasks, nodes             *prometheus.Desc
	lag, verdict, progress, due, usual, flow *prometheus.Desc
	delay, lastEnded, tables, tablesOmitted  *prometheus.Desc
	watermark, covered, goal, never          *prometheus.Desc
	uncovered, undeletable, byVerdict, late  *prometheus.Desc
	leaseHolder, leaseFence, taskLeases      *prometheus.Desc
}

// NewCollector returns a collector to be registered once.
func NewCollector(reads Reads, log *slog.Logger) *Collector {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("ttlproxy_"+name, help, labels, nil)
	}
	table := []string{"schema", "table", "partition"}
	with := func(more ...string) []string { return append(slices.Clone(table), more...) }
	return &Collector{view: newViewer(reads), log: log, descs: descriptions{
		up: d("catalog_up",
			"Whether the catalog answered when this was scraped. Everything else from the catalog is missing when it "+
				"did not."),
		enabled: d("jobs_enabled", "Whether ttl_job_enable is ON."),
		paused:  d("paused", "Whether everything is paused."),
		held:    d("held", "Whether the server is held because it is not the one the catalog knows."),
		halted:  d("halted", "1 for what keeps everything from being deleted, 0 for what does not.", "reason"),
		nodeStopped: d("node_stopped", "1 for what keeps a live engine from deleting, 0 for what does not.",
			"node", "reason"),
		policies: d("policies", "Policies by state.", "state"),
		jobs:     d("jobs", "Open jobs by state.", "state"),
		tasks:    d("tasks", "Tasks of open jobs by state.", "state"),
		nodes: d("nodes",
			"Nodes that have joined and not left, live or vanished, by whether their engine is on.", "state", "engine"),
		leaseHolder: d("lease_holder", "1 for the node that has the lease.", "lease", "node"),
		leaseFence: d("lease_fence",
			"Number of the lease's holder: it grows when the lease passes from one node to another.", "lease"),
		taskLeases: d("task_leases", "Tasks that a live node is working on: it has their leases.", "node"),
		lag: d("table_lag_seconds",
			"How long the oldest row in the table that could go has been due, as far as known.", table...),
		verdict:  d("table_verdict", "1 for the verdict on the table.", with("verdict")...),
		progress: d("job_progress_ratio", "How far the open job has come, from 0 to 1.", table...),
		due: d("job_due_rows",
			"Rows that were due when the open job started and are still there, as estimated.", table...),
		usual: d("job_usual_rows",
			"Rows of the whole table that were usually due by the time the open job started.", table...),
		flow: d("table_flow_rows_per_second",
			"Rows per second that become due (in), and that are deleted while a job runs (out).", with("direction")...),
		delay: d("watermark_delay_tables",
			"Tables by how long ago their last job started; none if it did not finish, or there was none yet.",
			"delay"),
		lastEnded: d("job_last_ended_timestamp_seconds", "When the last job of the table ended.", with("state")...),
		watermark: d("table_watermark_timestamp_seconds",
			"All rows of the table that had expired by then are gone.", table...),
		covered: d("table_covered_timestamp_seconds",
			"All rows of the table that had expired by then are gone, or stay because others need them.", table...),
		uncovered: d("table_uncovered_timestamp_seconds",
			"When the policy of the table became what it is, if no job has come to its end since then.", table...),
		goal: d("table_goal_seconds",
			"How long ago rows may have been covered: TTL_MAX_LAG, or twice the time between jobs.", table...),
		undeletable: d("table_undeletable_rows",
			"Rows that had expired when the last finished job looked, and that it could not delete: something "+
				"objects, or other rows need them.", table...),
		never: d("table_never_expire_rows",
			"Rows without a date, or with one that is taken for a mistake: they never expire.", table...),
		byVerdict: d("tables_by_verdict", "Tables and partitions by verdict, all of them.", "verdict"),
		late: d("tables_late",
			"Tables and partitions that were covered longer ago than their goal allows, of all of them."),
		tables: d("tables", "Tables and partitions with a policy."),
		tablesOmitted: d("tables_without_metrics",
			"Tables and partitions past the limit of those with metrics of their own."),
	}}
}

// Describe sends every description.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	d := c.descs
	for _, one := range []*prometheus.Desc{
		d.up, d.enabled, d.paused, d.held, d.halted, d.nodeStopped, d.policies, d.jobs, d.tasks, d.nodes, d.lag,
		d.verdict, d.progress, d.due, d.usual, d.flow,
		d.delay, d.lastEnded, d.watermark, d.covered, d.uncovered, d.goal, d.never, d.undeletable, d.byVerdict,
		d.late, d.tables, d.tablesOmitted, d.leaseHolder, d.leaseFence, d.taskLeases,
	} {
		ch <- one
	}
}

// Collect reads the catalog and sends what it says.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	err := panics.Caught(func() error {
		c.collect(ch)
		return nil
	})
	if bug, ok := errors.AsType[*panics.Error](err); ok { // Prometheus would let it end the process
		bug.Log(c.log, "in catalog metrics")
		ch <- prometheus.NewInvalidMetric(c.descs.up, bug)
	}
}

func (c *Collector) collect(ch chan<- prometheus.Metric) {
	//nolint:forbidigo // Prometheus collects without a context
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()

	l, err := c.view.read(ctx)
	if err != nil {
		c.log.WarnContext(ctx, "catalog metrics", slog.Any("err", err))
		ch <- gauge(c.descs.up, 0)
		return
	}

	ch <- gauge(c.descs.up, 1)
	c.whole(ch, l)
	c.nodes(ch, l)
	work := l.Work()
	c.watermarks(ch, work)
	c.eachTable(ch, work)
}

// whole sends what is about everything.
func (c *Collector) whole(ch chan<- prometheus.Metric, l *snapshot) {
	d := c.descs
	ch <- gauge(d.enabled, number(l.Enabled))
	ch <- gauge(d.paused, number(l.Pause.Paused))
	ch <- gauge(d.held, number(l.Pause.Held))
	halt := l.Halt()

	for _, code := range report.HaltCodes() {
		ch <- gauge(d.halted, number(halt.Code == code), string(code))
	}

	policies := map[string]int{"armed": 0, "staged": 0, "stopped": 0, "dormant": 0, "disarmed": 0}
	for _, p := range l.Policies {
		policies[string(p.State)]++
	}

	jobs := map[string]int{}
	for _, s := range catalog.OpenJobStates() {
		jobs[string(s)] = 0
	}

	for _, j := range l.Jobs {
		jobs[string(j.State)]++
	}

	tasks := map[string]int{"waiting": 0, "running": 0, "finished": 0}
	for _, t := range l.tasks {
		tasks[string(t.State)]++
	}

	for desc, counts := range map[*prometheus.Desc]map[string]int{d.policies: policies, d.jobs: jobs, d.tasks: tasks} {
		for state, n := range counts {
			ch <- gauge(desc, float64(n), state)
		}
	}
}

// nodes sends which nodes there are, and which has which lease.
func (c *Collector) nodes(ch chan<- prometheus.Metric, l *snapshot) {
	d := c.descs
	type kind struct{ state, engine string }
	counts := map[kind]int{{"live", "on"}: 0, {"live", "off"}: 0, {"vanished", "on"}: 0, {"vanished", "off"}: 0}
	working := map[string]int{} // by name: two containers may share one
	stops := map[stopOf]bool{}

	for i := range l.Nodes {
		n := &l.Nodes[i]
		k := kind{"vanished", "off"}
		if n.Engine {
			k.engine = "on"
		}

		switch {
		case n.Live:
			k.state = "live"
			working[n.Name] += l.tasksOf(n.ID)
			addStops(stops, n)
		case !n.LeftAt.IsZero():
			continue
		}

		counts[k]++
	}

	for k, n := range counts {
		ch <- gauge(d.nodes, float64(n), k.state, k.engine)
	}

	for node, n := range working {
		ch <- gauge(d.taskLeases, float64(n), node)
	}

	for of, stopped := range stops {
		ch <- gauge(d.nodeStopped, number(stopped), of.node, string(of.stop))
	}

	for _, lease := range l.leases {
		ch <- gauge(d.leaseHolder, 1, lease.Name, l.NodeName(lease.Node))
		ch <- gauge(d.leaseFence, float64(lease.Fence), lease.Name)
	}
}

// stopOf is what may stop a node.
type stopOf struct {
	node string
	stop catalog.Stop
}

// addStops notes what stops an engine, and what does not.
func addStops(stops map[stopOf]bool, n *catalog.Node) {
	if !n.Engine {
		return
	}
	for _, stop := range catalog.Stops() {
		stops[stopOf{n.Name, stop}] = stops[stopOf{n.Name, stop}] || n.Stop == stop
	}
}

// watermarks sends how far behind the schedule tables are.
func (c *Collector) watermarks(ch chan<- prometheus.Metric, work []*report.Work) {
	counts := map[string]int{}
	for _, w := range work {
		counts[delayOf(w)]++
	}
	for _, name := range delays() {
		ch <- gauge(c.descs.delay, float64(counts[name]), name)
	}
}

// eachTable sends what is about one table, for as many as may have metrics of their own.
func (c *Collector) eachTable(ch chan<- prometheus.Metric, work []*report.Work) {
	d := c.descs
	ch <- gauge(d.tables, float64(len(work)))
	ch <- gauge(d.tablesOmitted, float64(max(0, len(work)-tableMetrics)))

	all := make([]judged, len(work))
	counts, late := map[report.Word]int{}, 0

	for i, w := range work {
		word, isLate := report.Judge(w).Word, w.Late()
		all[i] = judged{w, word, placeOf(word, isLate), w.Now.Sub(w.Covered())}
		counts[word]++
		if isLate {
			late++
		}
	}

	for _, word := range report.Words() {
		ch <- gauge(d.byVerdict, float64(counts[word]), string(word))
	}

	ch <- gauge(d.late, float64(late))

	slices.SortStableFunc(all, func(a, b judged) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(b.age, a.age))
	})
	for _, t := range all[:min(len(all), tableMetrics)] {
		c.table(ch, t)
	}
}

// judged is a table or partition with its verdict.
type judged struct {
	*report.Work
	word  report.Word
	place int           // the smaller, the worse
	age   time.Duration // since rows were covered
}

// placeOf is that of a verdict among the others, the worst first. Right behind those that are falling behind come all
// that are late, whatever is said of them: the alert for that reads their own series.
func placeOf(word report.Word, late bool) int {
	worst := report.Words()
	place := 2 * slices.Index(worst, word)
	if late {
		place = min(place, 2*slices.Index(worst, report.FallingBehind)+1)
	}
	return place
}

func (c *Collector) table(ch chan<- prometheus.Metric, t judged) {
	d, w := c.descs, t.Work
	labels := []string{w.Policy.Table.Schema, w.Policy.Table.Name, w.Partition}
	with := func(more string) []string { return append(slices.Clone(labels), more) }
	if behind, ok := w.Behind(); ok {
		ch <- gauge(d.lag, behind.Seconds(), labels...)
	}
	c.left(ch, w, labels)

	ch <- gauge(d.verdict, 1, with(string(t.word))...)

	flow := report.FlowOf(w)
	if flow.InflowKnown {
		ch <- gauge(d.flow, flow.Inflow, with("in")...)
	}
	if flow.OutflowKnown {
		ch <- gauge(d.flow, flow.Outflow, with("out")...)
	}

	if w.Job != nil {
		if p := w.Progress(); p.Known {
			ch <- gauge(d.progress, p.Percent/100, labels...)
		}
		ch <- gauge(d.due, float64(flow.Backlog), labels...)
		if w.Job.UsualRows != nil {
			ch <- gauge(d.usual, float64(*w.Job.UsualRows), labels...)
		}
	}

	if w.Last != nil {
		ch <- gauge(d.lastEnded, seconds(w.Last.FinishedAt), with(string(w.Last.State))...)
	}
}

// left sends which expired rows are still there, as far as finished jobs tell.
func (c *Collector) left(ch chan<- prometheus.Metric, w *report.Work, labels []string) {
	d := c.descs
	for desc, at := range map[*prometheus.Desc]time.Time{
		d.watermark: w.Watermark(), d.covered: w.Covered(), d.uncovered: w.Uncovered(),
	} {
		if !at.IsZero() {
			ch <- gauge(desc, seconds(at), labels...)
		}
	}

	for desc, rows := range map[*prometheus.Desc]*uint64{d.undeletable: w.Undeletable(), d.never: w.NeverExpire()} {
		if rows != nil {
			ch <- gauge(desc, float64(*rows), labels...)
		}
	}

	if !w.Covered().IsZero() || !w.Uncovered().IsZero() {
		ch <- gauge(d.goal, w.Goal().Seconds(), labels...)
	}
}

// seconds is a moment as Prometheus counts it.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
