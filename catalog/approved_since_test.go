package catalog

import (
	"fmt"
	"testing"
)

// TestNumberNamedWhileARunIsPlanned: whoever names a number between the moment at which a policy is read and that at
// which its run begins bounds that run, as one that is going on, whether it would have asked and whatever bound it
// would have had.
func TestNumberNamedWhileARunIsPlanned(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		bound := func(n uint64) *uint64 { return &n }
		for i, c := range []struct {
			state   JobState
			bound   *uint64
			consent Consent
			want    *uint64
		}{
			{JobNeedsApproval, nil, Consent{UpTo: bound(100)}, bound(100)},
			{JobNeedsApproval, bound(500), Consent{UpTo: bound(100)}, bound(100)},
			{JobNeedsApproval, bound(50), Consent{Seen: bound(100)}, bound(121)},
			{JobNeedsApproval, bound(50), Consent{}, bound(1201)},
			{JobNeedsApproval, nil, Consent{Seen: bound(100)}, nil},
			{JobRunning, nil, Consent{UpTo: bound(100)}, bound(100)},
			{JobRunning, bound(500), Consent{UpTo: bound(100)}, bound(100)},
			{JobRunning, bound(50), Consent{Seen: bound(100)}, bound(121)},
			{JobRunning, bound(50), Consent{}, bound(50)},
			{JobRunning, nil, Consent{Seen: bound(100)}, nil},
		} {
			read := b.declare(t, b.table(t, fmt.Sprint("t", i)))
			if _, err := b.Consent(t.Context(), "dba", read.ID, read.Version, c.consent); err != nil {
				t.Fatal(err)
			}
			job := b.begin(t, NewJob{
				Policy: read, Tasks: make([]TaskRange, 1), State: c.state, Bound: c.bound,
				Facts: JobFacts{EstimatedRows: bound(1000)},
			})
			text := func(n *uint64) string {
				if n == nil {
					return "any"
				}
				return fmt.Sprint(*n)
			}
			if text(job.Bound) != text(c.want) || job.State != JobRunning {
				t.Errorf("%s, %s rows, and then %+v: got %s, %s rows, want %s", c.state, text(c.bound), c.consent, job.State,
					text(job.Bound), text(c.want))
			}
		}
	})
}

// TestPassIsNoApproval: that the brake of another node has passed a version, which forgets when somebody approved the
// one before, is no word of a person.
func TestPassIsNoApproval(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil {
			t.Fatal(err)
		}
		rule := p.Rule
		rule.JobInterval = "2h"
		rule.Literal = "3"
		read, err := b.Declare(t.Context(), b.client(), Declaration{Table: p.Table, Rule: rule})
		if err != nil {
			t.Fatal(err)
		}

		passed := b.begin(t, NewJob{Policy: read, Tasks: make([]TaskRange, 1)})
		b.exec(t, "UPDATE {policy} SET approved_version = version, approved_at = NULL") // as passPolicy does
		if err := b.FinishJob(t.Context(), passed.ID, passed.Fence, JobFinished, ""); err != nil {
			t.Fatal(err)
		}
		job := b.begin(t, NewJob{Policy: read, Tasks: make([]TaskRange, 1), State: JobNeedsApproval, Reason: "too many"})
		if job.State != JobNeedsApproval {
			t.Errorf("got %s, want %s", job.State, JobNeedsApproval)
		}
	})
}
