package ttl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// prospect is one table or partition with everything that is known before its job.
type prospect struct {
	partition  string
	statements *plan.Statements
	estimate   plan.Estimate
	choice     plan.Choice
	queue      *catalog.ExpiryQueue // nil if the policy does without
}

// start looks at a table and creates its jobs: one, or one per partition. Identity comes first,
// then reasons to pause, then the brake; whatever stands in its way, the job exists to say so.
func (t *starter) start(ctx context.Context, now time.Time, d duePolicy) error {
	settings := t.limits().Revision
	known, err := t.recognize(ctx, &d)
	if err != nil || known == nil {
		return err
	}

	p := d.policy
	facts, err := t.facts(ctx, now, p.Table, known, d.before)
	if err != nil {
		return err
	}

	stay, unkept, err := t.staying(ctx, now, p, facts)
	if err != nil {
		return err
	}

	pause, err := t.pauses(ctx, p, facts, unkept)
	if errors.Is(err, errColumn) {
		return t.store.Disarm(ctx, t.actor(), p.ID, p.Version, err.Error())
	}
	if err != nil {
		return err
	}

	cutoff, err := cutoffOf(p, facts, now)
	if err != nil {
		return err
	}

	whole, err := plan.ReadWhole(ctx, t.session, t.store, p, facts, stay, now)
	if err != nil {
		return err
	}

	prospects, err := t.prospects(ctx, p, facts, cutoff, stay, whole)
	if err != nil {
		return err
	}

	if err := t.useQueues(ctx, now, d, known, prospects); err != nil {
		return err
	}

	t.looks.learn(p, facts, now, prospects)
	r := &run{duePolicy: d, at: now, cutoff: cutoff, settings: settings, prospects: prospects}
	if err := t.judge(ctx, r, pause, together(prospects, facts)); err != nil {
		return err
	}
	if err := t.create(ctx, r, known); err != nil {
		return err // refused, perhaps, because the brake was changed meanwhile
	}

	return t.store.ForgetPartitions(ctx, p.ID, r.left())
}

// recognize makes sure that the table of a due policy is still the one, and reads the policy again.
// It returns nil if nothing should start: then the policy is disarmed, has changed since the glance
// at its table, or cannot be understood.
func (t *starter) recognize(ctx context.Context, d *duePolicy) (tables.Incarnation, error) {
	if err := t.session.Ready(ctx); err != nil {
		return nil, err
	}
	if d.connection != t.session.ID() { // which may lead to another server
		d.glance = glance{}
	}

	known, err := d.known, error(nil)
	if known == nil {
		known, err = t.tables.Recognize(ctx, d.policy)
	}
	if err != nil || known == nil {
		return nil, err
	}

	p, err := t.store.PolicyByID(ctx, d.policy.ID) // whose approval may just have been withdrawn
	if err != nil {
		return nil, err
	}
	if d.known != nil && p.Version != d.policy.Version {
		return nil, nil // the next tick examines both
	}
	if p.Unread != "" {
		return nil, nil // which is what reports say of it
	}

	d.policy = p
	return known, nil
}

// judge decides in which state a run begins, and by which ruling of the brake.
func (t *starter) judge(ctx context.Context, r *run, pause string, all plan.Estimate) error {
	p := r.policy
	runs, err := t.store.Runs(ctx, p.ID)
	if err != nil {
		return err
	}
	runs = r.withLook(runs)

	r.state = catalog.JobRunning
	r.ruling = braked(r.at, p, runs, all, *t.limits())

	switch {
	case pause != "":
		r.state, r.reason, r.ruling = catalog.JobPaused, pause, r.ruling.afterwards()
		return nil
	case r.ruling.Why != "":
		r.state, r.reason = catalog.JobNeedsApproval, r.ruling.Why
		return t.store.Record(ctx, catalog.Event{
			Kind: catalog.EventBraked, PolicyID: p.ID, Version: p.Version, Table: p.Table, Actor: t.actor(),
			Text: r.ruling.Why,
		})
	default:
		// An empty table says nothing about what will be loaded into it.
		r.passed = !p.Approved() && !all.Tiny()
		return nil
	}
}

// run is what will become the jobs of a table: one, or one per partition.
type run struct {
	duePolicy
	at        time.Time
	cutoff    plan.Cutoff
	state     catalog.JobState
	reason    string
	ruling    ruling
	passed    bool   // the brake sees this version of the policy for the first time, and passes it
	settings  uint64 // the revision of those it was planned by
	prospects []prospect
}

// left are the partitions that had jobs and have none in this run: they are gone, or nothing in
// them can be due under the policy as it is now.
func (r *run) left() (names []string) {
	for _, s := range r.ran {
		among := func(x prospect) bool { return x.partition == s.Partition }
		if s.Partition != "" && !slices.ContainsFunc(r.prospects, among) {
			names = append(names, s.Partition)
		}
	}
	return names
}

// withLook adds the last look that found nothing to the runs before this one: what has become due
// since then is judged by that time, as if a run had found nothing. What the catalog has been told
// of a look is enough.
func (r *run) withLook(runs []catalog.Run) []catalog.Run {
	var before time.Time
	if len(runs) > 0 {
		before = runs[0].At
	}

	r.looked = later(r.looked, latest(r.ran).LookedAt)
	if !r.looked.After(before) {
		r.looked = time.Time{}
		return runs
	}

	return append([]catalog.Run{{At: r.looked, Finished: true, FinishedAt: r.looked}}, runs...)
}

// last is the latest job of the policy.
func (t duePolicy) last() *uint64 {
	var last uint64
	for _, s := range t.ran {
		last = max(last, s.LastJob)
	}
	return &last
}

// create creates the jobs of a run, and sends workers to them.
func (t *starter) create(ctx context.Context, r *run, identities tables.Incarnation) error {
	n := catalog.NewRun{After: r.last(), Looked: r.looked}
	if r.passed {
		n.PassedBy = t.actor()
	}

	for _, x := range r.prospects {
		job := t.newJob(r, x, partitionPause(identities, x.partition, r.reason))
		var err error
		if job.Tasks, err = t.tasks(ctx, x); err != nil {
			return err
		}
		n.Jobs = append(n.Jobs, job)
	}

	jobs, err := t.store.CreateRun(ctx, n)
	if err != nil {
		return err
	}

	t.queue.Add(jobs)
	t.wakeCrew()

	for i, job := range jobs {
		t.metrics.jobStarted(job)
		t.log.LogAttrs(ctx, slog.LevelInfo, "job starts", work.JobAttrs(job)...)
		var err error
		switch x := r.prospects[i]; x.choice.Way {
		case plan.Refuse:
			err = t.store.FinishJob(ctx, job.ID, job.Fence, catalog.JobFailed, x.choice.Reason)
		case plan.Census:
			err = t.store.BeginCensus(ctx, x.queue.ID, job.ID)
		default:
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// facts are those of the table that was recognized, or of a later state of it. What was read before
// will do if the table certainly was not altered meanwhile; then workers need not ask for the
// layout again.
func (t *starter) facts(
	ctx context.Context, now time.Time, table catalog.Table, known tables.Incarnation, before *tables.Facts,
) (*tables.Facts, error) {
	if t.tables.Unaltered(t.session, now, table, known, before) {
		return before, nil
	}
	return tables.ReadFacts(ctx, t.session, table.Schema, table.Name)
}

// actor is how the engine signs events.
func (e *Engine) actor() string { return fmt.Sprintf("engine (node %d)", e.node.Load()) }

// staying says which rows stay, and what goes along with others; if that cannot be kept, why.
func (t *starter) staying(
	ctx context.Context, now time.Time, p catalog.Policy, f *tables.Facts,
) (stay plan.Staying, why string, err error) {
	stay, why, err = plan.ReadStaying(ctx, t.session, p.Terms, &f.Layout, f.Children)
	if err == nil && why == "" {
		_, why, err = work.AlongPause(ctx, t.store, stay.Along(), now)
	}
	return stay, why, err
}

// pauses asks for reasons to wait, of the server first. One is known: that rows which have to stay
// could not be kept.
func (t *starter) pauses(ctx context.Context, p catalog.Policy, f *tables.Facts, unkept string) (string, error) {
	if moved := t.store.Reserved(p.Table); moved != nil {
		return moved.Error(), nil //nolint:nilerr // a reason to wait, not a failure
	}

	why, err := t.serverPause(ctx)
	if err != nil || why != "" {
		return why, err
	}
	if unkept != "" {
		return unkept, nil
	}
	return tablePause(ctx, t.session, p, f)
}

// serverPause asks a server once for all tables that a tick examines.
func (t *starter) serverPause(ctx context.Context) (string, error) {
	if s := t.server; s.asked && s.connection == t.session.ID() {
		return s.pause, nil
	}
	why, err := serverPause(ctx, t.session, *t.limits())
	t.server = serverState{asked: err == nil, connection: t.session.ID(), pause: why}
	return why, err
}

func partitionPause(all tables.Incarnation, partition, reason string) string {
	if i, _ := all.At(partition); i.Held.Holds() {
		return i.Held.Text
	}
	return reason
}

func cutoffOf(p catalog.Policy, f *tables.Facts, now time.Time) (plan.Cutoff, error) {
	c, _ := f.Column(p.Rule.Column)
	return plan.CutoffOf(p.Terms, c, now)
}

// prospects plans for the table, or for each of its partitions that may have due rows.
func (t *starter) prospects(ctx context.Context, p catalog.Policy, f *tables.Facts, cutoff plan.Cutoff,
	stay plan.Staying, whole plan.Whole,
) ([]prospect, error) {
	partitions := []tables.Partition{{Rows: f.Rows}}
	if len(f.Partitions) > 0 {
		partitions = plan.DuePartitions(f, p.Rule.Column, cutoff)
	}

	l := t.limits()
	all := make([]prospect, 0, len(partitions))
	for _, part := range partitions {
		s, err := plan.NewStatements(&f.Layout, part.Name, p.Rule.Column, cutoff, l.floor, stay)
		if err != nil {
			return nil, err
		}

		e, err := s.Estimate(ctx, t.session, part.Rows)
		if err != nil {
			return nil, fmt.Errorf("estimate %s: %w", p.Table, err)
		}

		x := prospect{partition: part.Name, statements: s, estimate: e, choice: s.Choose(e, l.indexScan)}
		byRows := whole.Why(f, part.Name, s.Expired)
		if byRows == "" {
			x.choice = whole.ChooseWhole()
			all = append(all, x)
			continue
		}

		if err := s.Verify(ctx, t.session, x.choice.Way, e.Edge); err != nil {
			x.choice = x.statements.Second(x.choice, err)
		}
		if whole.How != "" {
			x.choice.Reason += "; not whole: " + byRows
		}

		all = append(all, x)
	}

	return all, nil
}

// together sums the estimates of all partitions: the brake judges tables. Partitions in which
// nothing can be due count with their size.
func together(all []prospect, f *tables.Facts) plan.Estimate {
	sum := plan.Estimate{Exact: true, DueExact: true}
	for _, x := range all {
		e := x.estimate.With(x.statements.Staying.Along())
		sum.Rows += e.Rows
		sum.Expired += e.Expired
		sum.Exact, sum.DueExact = sum.Exact && e.Exact, sum.DueExact && e.DueExact
	}
	for _, p := range f.Partitions[min(len(all), len(f.Partitions)):] {
		sum.Rows, sum.Exact = sum.Rows+p.Rows, false
	}
	return sum
}

// newJob is the job of a table or partition in a run.
func (t *starter) newJob(r *run, x prospect, reason string) catalog.NewJob {
	state := r.state
	if reason != "" && state == catalog.JobRunning {
		state = catalog.JobPaused
	}
	facts := factsOf(x, r.cutoff)
	facts.UsualRows = r.ruling.usual
	return catalog.NewJob{
		Policy: r.policy, Partition: x.partition, State: state, Reason: reason, Owner: t.node(), RunAt: r.at,
		Cutoff: r.cutoff.Instant, DueAt: r.cutoff.DueAt(), CutoffLiteral: x.statements.Expired.Cutoff,
		FloorLiteral: x.statements.Expired.Floor,
		Trigger:      r.trigger, TriggeredBy: r.by, Facts: facts, Bound: r.ruling.Bound,
		Settings: r.settings,
	}
}

func factsOf(x prospect, cutoff plan.Cutoff) catalog.JobFacts {
	due := uint64(max(x.estimate.With(x.statements.Staying.Along()).Expired, 0))
	rows := uint64(max(x.estimate.Rows, 0))
	f := catalog.JobFacts{
		Plan: string(x.choice.Way), PlanReason: x.choice.Reason, EstimatedRows: &due,
		TableRows: &rows,
	}
	f.NullRows, f.OddRows = count(x.estimate.Null), count(x.estimate.Implausible)
	f.OldestExpiry = cutoff.ExpiryOf(x.estimate.Head)
	f.Note = strings.Join(notes(x.estimate), "\n")
	return f
}

func count(n int64) *uint64 {
	c := uint64(max(n, 0))
	return &c
}

// notes says which rows never expire, one line each.
func notes(e plan.Estimate) (lines []string) {
	if e.Null > 0 {
		lines = append(lines, rowsText(e.Null, e.Exact)+" without a date: never expire")
	}
	if e.Implausible > 0 {
		lines = append(lines, rowsText(e.Implausible, e.Exact)+
			" with a zero date or one before ttl_date_floor: never expire")
	}
	if e.MostNeverExpire() {
		lines = append(lines, "most of the rows never expire: is this the column that tells their age?")
	}
	return lines
}

func rowsText(n int64, exact bool) string {
	text := fmt.Sprintf("%d rows", n)
	if n == 1 {
		text = "1 row"
	}
	if !exact {
		text = "about " + text
	}
	return text
}

const (
	// taskRows is how many rows justify a task of their own, dueRows how many that are due do by the
	// index on time.
	taskRows = 100_000
	dueRows  = 20_000
	maxTasks = 64
)

// tasks splits the work: keys are cut evenly, the index on time by time, and tables without a key
// are one range. If nothing is due there are none, and the job ends as soon as it begins.
func (t *starter) tasks(ctx context.Context, x prospect) ([]catalog.TaskRange, error) {
	var ranges []plan.Range
	var err error
	running := t.limits().RunningTasks

	switch {
	case x.choice.Way == plan.GoWhole:
		return []catalog.TaskRange{{}}, nil
	case x.choice.Way == plan.Refuse, x.estimate.Nothing:
		return nil, nil
	case x.choice.Way == plan.DrainQueue:
		return t.shards(ctx, x)
	case x.choice.Way == plan.WalkRange, x.choice.Way == plan.Census:
		ranges, err = x.statements.Split(ctx, t.session, x.estimate, taskCount(x.estimate.Rows, taskRows, running))
	case x.choice.Way == plan.WalkIndex:
		ranges, err = x.statements.SplitByTime(ctx, t.session, x.estimate,
			taskCount(x.estimate.Expired, dueRows, running))
	default:
		ranges = []plan.Range{{}}
	}
	if err != nil {
		return nil, fmt.Errorf("split %s: %w", x.statements.Target.Name(), err)
	}

	tasks := make([]catalog.TaskRange, len(ranges))
	for i, r := range ranges {
		tasks[i] = catalog.TaskRange{Start: r.From.Encode(), End: r.To.Encode()}
	}

	return tasks, nil
}

// taskCount is one task for so many rows each. If there are several, their number is a multiple of those
// that run at a time, so that no worker is without one while the others still have theirs; they are
// not cut below half for that.
func taskCount(rows, each int64, running int) int {
	n := int(min(rows/each, maxTasks))
	running = min(max(running, 1), 2*n)
	if n <= 1 {
		return 1
	}
	return min((n+running-1)/running*running, maxTasks)
}
