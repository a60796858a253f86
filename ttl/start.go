package ttl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// start looks at a table and creates its jobs: one, or one per partition. Identity comes first,
// then reasons to pause, then the brake; whatever stands in its way, the job exists to say so.
func (t *starter) start(ctx context.Context, now time.Time, d duePolicy) error {
	settings := t.limits().Revision
	known, err := t.recognize(ctx, now, &d)
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

	prospects, err := t.prospects(ctx, p, facts, known, cutoff, stay, whole)
	if err != nil {
		return err
	}
	if len(prospects) == 0 {
		return t.allHeld(ctx, d, known)
	}

	if imported, err := t.imported(ctx, p, known, prospects); err != nil || imported {
		return err // the policy waits for approval now
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

	return t.store.ForgetPartitions(ctx, p.ID, left(d.ran, prospects, known))
}

// allHeld is the end of a start of which nothing has come, because only partitions that are held may have due rows.
func (t *starter) allHeld(ctx context.Context, d duePolicy, known tables.Incarnation) error {
	if err := t.store.ForgetPartitions(ctx, d.policy.ID, left(d.ran, nil, known)); err != nil {
		return err
	}
	if d.trigger == catalog.TriggerManual {
		if err := t.store.Withdraw(ctx, d.policy.ID); err != nil {
			return err
		}
	}
	return errAllHeld
}

// recognize makes sure that the table of a due policy is still the one, and reads the policy again.
// It returns nil if nothing should start: then the policy is disarmed, has changed since the glance
// at its table, cannot be understood, or is not due any more.
func (t *starter) recognize(ctx context.Context, now time.Time, d *duePolicy) (tables.Incarnation, error) {
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
	if changed := p.Version != d.policy.Version || p.Paused.InForce(now); changed {
		if _, still := due(now, scheduled{p, d.ran}, *t.limits()); !still {
			return nil, nil // by its schedule as it is now
		}
	}

	d.policy = p
	return known, nil
}

// judge decides in which state a run begins, and by which ruling of the brake.
func (t *starter) judge(ctx context.Context, r *run, pause catalog.Waits, all plan.Estimate) error {
	p := r.policy
	runs, err := t.store.Runs(ctx, p.ID)
	if err != nil {
		return err
	}
	runs = r.withLook(runs)

	r.state = catalog.JobRunning
	r.ruling = braked(r.at, p, runs, all, *t.limits())

	switch {
	case pause.Why != "":
		r.state, r.waits, r.ruling = catalog.JobPaused, pause, r.ruling.afterwards()
		return nil
	case r.ruling.Why != "":
		r.state, r.waits = catalog.JobNeedsApproval, catalog.Waits{Why: r.ruling.Why}
		return nil
	default:
		// An empty table says nothing about what will be loaded into it, and the server may take it for a large one.
		if r.passed = !p.Approved() && !all.Tiny(); r.passed {
			tiny, err := plan.Tiny(ctx, t.session, p.Table)
			r.passed = !tiny
			return err
		}
		return nil
	}
}

// run is what will become the jobs of a table: one, or one per partition.
type run struct {
	duePolicy
	at        time.Time
	cutoff    plan.Cutoff
	state     catalog.JobState
	waits     catalog.Waits
	ruling    ruling
	passed    bool   // the brake sees this version of the policy for the first time, and passes it
	settings  uint64 // the revision of those it was planned by
	prospects []prospect
}

// left are the partitions that had jobs and have none in this run, because they are gone, or nothing in
// them can be due under the policy as it is now. Those that are held are not forgotten: their rows wait.
func left(ran []catalog.Schedule, prospects []prospect, known tables.Incarnation) (names []string) {
	for _, s := range ran {
		among := func(x prospect) bool { return x.partition == s.Partition }
		place, _ := known.At(s.Partition)
		if s.Partition != "" && !slices.ContainsFunc(prospects, among) && !place.Held.Lasts() {
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
	if r.state == catalog.JobNeedsApproval {
		n.Asks = &catalog.Event{
			Kind: catalog.EventBraked, PolicyID: r.policy.ID, Version: r.policy.Version, Table: r.policy.Table,
			Actor: t.actor(), Text: r.ruling.Why,
		}
	}

	for _, x := range r.prospects {
		job := t.newJob(r, x, partitionPause(identities, x.partition, r.waits))
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
) (stay plan.Staying, unkept catalog.Waits, err error) {
	stay, unkept.Why, err = plan.ReadStaying(ctx, t.session, p.Terms, &f.Layout, f.Children)
	if err == nil && unkept.Why == "" {
		_, unkept, err = work.AlongPause(ctx, t.store, stay.Along(), now)
	}
	return stay, unkept, err
}

// pauses asks for reasons to wait, of the server first. One is known: that rows which have to stay
// could not be kept.
func (t *starter) pauses(
	ctx context.Context, p catalog.Policy, f *tables.Facts, unkept catalog.Waits,
) (waits catalog.Waits, err error) {
	if moved := t.store.Reserved(p.Table); moved != nil {
		return catalog.Waits{Why: moved.Error()}, nil //nolint:nilerr // a reason to wait, not a failure
	}

	waits.Why, err = t.serverPause(ctx)
	if err != nil || waits.Why != "" {
		return waits, err
	}
	if unkept.Why != "" {
		return unkept, nil
	}
	waits.Why, err = tablePause(ctx, t.session, p, f)
	return waits, err
}

// serverPause asks a server once for all tables that a tick examines.
func (t *starter) serverPause(ctx context.Context) (string, error) {
	if s := t.server; s.asked && s.connection == t.session.ID() {
		return s.pause, nil
	}
	why, err := catalog.ServerPause(ctx, t.session, t.limits().allowReplica)
	t.server = serverState{asked: err == nil, connection: t.session.ID(), pause: why}
	return why, err
}

// partitionPause says why a partition has to wait, as it would for its table, or for a reason of its own.
func partitionPause(all tables.Incarnation, partition string, table catalog.Waits) catalog.Waits {
	if i, _ := all.At(partition); i.Held.Holds() {
		return catalog.Waits{Why: i.Held.Text}
	}
	return table
}

func cutoffOf(p catalog.Policy, f *tables.Facts, now time.Time) (plan.Cutoff, error) {
	c, _ := f.Column(p.Rule.Column)
	return plan.CutoffOf(p.Terms, c, now)
}
