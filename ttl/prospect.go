package ttl

import (
	"context"
	"fmt"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// prospect is one table or partition with everything that is known before its job.
type prospect struct {
	partition  string
	statements *plan.Statements
	estimate   plan.Estimate
	choice     plan.Choice
	queue      *catalog.ExpiryQueue // nil if the policy does without
}

// prospects plans for the table, or for each of its partitions that may have due rows. Those that are held until a
// person has looked have no jobs: the others go on without them.
func (t *starter) prospects(ctx context.Context, p catalog.Policy, f *tables.Facts, known tables.Incarnation,
	cutoff plan.Cutoff, stay plan.Staying, whole plan.Whole,
) ([]prospect, error) {
	partitions := []tables.Partition{{Rows: f.Rows}}
	if len(f.Partitions) > 0 {
		partitions = plan.DuePartitions(f, p.Rule.Column, cutoff)
	}

	l := t.limits()
	all := make([]prospect, 0, len(partitions))
	for _, part := range partitions {
		if place, _ := known.At(part.Name); place.Held.Lasts() {
			continue
		}

		s, err := plan.NewStatements(&f.Layout, part.Name, p.Rule.Column, cutoff, l.floor, stay)
		if err != nil {
			return nil, err
		}

		e, err := s.Estimate(ctx, t.session, part.Rows)
		if err != nil {
			return nil, fmt.Errorf("estimate %s: %w", p.Table, err)
		}

		x := prospect{partition: part.Name, statements: s, estimate: e}
		if err := t.weigh(ctx, p, &x); err != nil {
			return nil, err
		}
		x.choice = s.Choose(x.estimate, l.indexScan)

		byRows := whole.Why(f, part.Name, s.Expired)
		if byRows == "" {
			x.choice = whole.ChooseWhole()
			all = append(all, x)
			continue
		}

		if err := s.Verify(ctx, t.session, x.choice.Way, x.estimate.Edge); err != nil {
			x.choice = x.statements.Second(x.choice, err)
		}
		if whole.How != "" {
			x.choice.Reason += "; not whole: " + byRows
		}

		all = append(all, x)
	}

	return all, nil
}

// weigh counts rows for a brake to which it matters what part of the table is due: when it judges a policy for the
// first time, where the table allows no more than a part, and where so much is due that it looks at the part.
func (t *starter) weigh(ctx context.Context, p catalog.Policy, x *prospect) (err error) {
	few := x.estimate.Harmless() || p.Approved() && x.estimate.Expired <= t.limits().brake.Rows
	if few && p.Terms.Options.MaxPercent == 0 {
		return nil
	}
	if x.estimate, err = x.statements.Counted(ctx, t.session, x.estimate); err != nil {
		return fmt.Errorf("count %s: %w", p.Table, err)
	}
	return nil
}

// together sums the estimates of all partitions: the brake judges tables. Partitions in which
// nothing can be due, or that are held, count with their size.
func together(all []prospect, f *tables.Facts) plan.Estimate {
	sum := plan.Estimate{Exact: true, DueExact: true}
	estimated := make(map[string]bool, len(all))
	for _, x := range all {
		estimated[x.partition] = true
		e := x.estimate.With(x.statements.Staying.Along())
		sum.Rows += e.Rows
		sum.Expired += e.Expired
		sum.Exact, sum.DueExact = sum.Exact && e.Exact, sum.DueExact && e.DueExact
	}
	for _, p := range f.Partitions {
		if !estimated[p.Name] {
			sum.Rows, sum.Exact = sum.Rows+p.Rows, false
		}
	}
	return sum
}

// newJob is the job of a table or partition in a run.
func (t *starter) newJob(r *run, x prospect, w catalog.Waits) catalog.NewJob {
	state := r.state
	if w.Why != "" && state == catalog.JobRunning {
		state = catalog.JobPaused
	}
	facts := factsOf(x, r.cutoff)
	facts.UsualRows = r.ruling.usual
	return catalog.NewJob{
		Policy: r.policy, Partition: x.partition, State: state, Reason: w.Why, WaitsFor: w.For,
		Owner: t.node(), RunAt: r.at, Cutoff: r.cutoff.Instant, DueAt: r.cutoff.DueAt(),
		CutoffLiteral: x.statements.Expired.Cutoff, FloorLiteral: x.statements.Expired.Floor,
		Trigger: r.trigger, TriggeredBy: r.by, Facts: facts, Bound: r.ruling.Bound,
		Settings: r.settings,
	}
}

func factsOf(x prospect, cutoff plan.Cutoff) catalog.JobFacts {
	along := x.statements.Staying.Along()
	due := uint64(max(x.estimate.With(along).Expired, 0))
	rows := uint64(max(x.estimate.Rows, 0))
	f := catalog.JobFacts{
		Plan: string(x.choice.Way), PlanReason: x.choice.Reason, EstimatedRows: &due,
		TableRows: &rows,
	}
	f.NullRows, f.OddRows = count(x.estimate.Null), count(x.estimate.Implausible)
	f.OldestExpiry = cutoff.ExpiryOf(x.estimate.Head)
	lines := notes(x.estimate)
	if more := along.Rows(x.estimate.Expired, x.estimate.Rows); more > 0 {
		lines = append(lines,
			rowsText(more, false)+" of other tables are expected to go along: nobody has counted them")
	}
	f.Note = strings.Join(lines, "\n")
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
