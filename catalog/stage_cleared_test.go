package catalog

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestClearedRowsAreNotApproved takes rows out of a table, or partition by partition, in each way that a statement can:
// what comes in their place under the name is covered by no approval of a whole table that was, nor by a person's word
// about those rows, nor by a job that was begun for them.
func TestClearedRowsAreNotApproved(t *testing.T) {
	t.Parallel()
	const (
		unapproved = "not approved"
		judged     = "approved, by nobody's word"
		consented  = "approved, by a person's word"
	)
	truncate, alter := Intent{Kind: IntentTruncate}, Intent{Kind: IntentAlter}
	clears := Intent{Kind: IntentAlter, Clears: true}
	onServers(t, func(t *testing.T, b *bench) {
		for name, c := range map[string]struct {
			intent   Intent
			ddl      string
			goOn     string // the jobs that do, of p0, p1 and p2
			approval string
		}{
			"truncated": {truncate, "TRUNCATE TABLE user.{t}", "", unapproved},
			"all":       {clears, "ALTER TABLE user.{t} TRUNCATE PARTITION ALL", "", unapproved},
			"listed":    {clears, "ALTER TABLE user.{t} TRUNCATE PARTITION p0, p1, p2", "", unapproved},
			"one":       {clears, "ALTER TABLE user.{t} TRUNCATE PARTITION p0", "p1 p2", judged},
			"dropped":   {clears, "ALTER TABLE user.{t} DROP PARTITION p2", "p0 p1", judged},
			"moved": {alter, "ALTER TABLE user.{t} REORGANIZE PARTITION p1, p2 INTO " +
				"(PARTITION p1 VALUES LESS THAN (30))", "p0 p1", consented},
			"rebuilt": {alter, "ALTER TABLE user.{t} REBUILD PARTITION p0", "p0 p1 p2", consented},
		} {
			b.exec(t, "CREATE TABLE user."+name+" (id BIGINT, at DATETIME) PARTITION BY RANGE (id) (PARTITION p0 "+
				"VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN (30))")
			p := b.declare(t, b.named(name))
			if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{UpTo: new(uint64(50))}); err != nil {
				t.Fatal(err)
			}
			now, err := b.Clock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var run NewRun
			for _, partition := range []string{"p0", "p1", "p2"} {
				run.Jobs = append(run.Jobs, NewJob{
					Policy: p, Partition: partition, Cutoff: now, CutoffLiteral: "2000-01-01 00:00:00",
					Tasks: make([]TaskRange, 1),
				})
			}
			jobs, err := b.CreateRun(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}

			c.intent.Table = p.Table
			g := b.stage(t, c.intent)
			b.exec(t, strings.ReplaceAll(c.ddl, "{t}", name))
			if err := g.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}

			got, err := b.Policy(t.Context(), p.Table)
			if err != nil || !got.Armed() || got.Approval.Required {
				t.Errorf("%s: got %+v, %v, want it armed", name, got, err)
			}
			approval := unapproved
			if got.Approved() {
				_, given := got.Approval.Consented(nil)
				approval = map[bool]string{true: consented, false: judged}[given]
			}
			if approval != c.approval {
				t.Errorf("%s: it is %s, want it %s", name, approval, c.approval)
			}

			var on []string
			for _, j := range jobs {
				switch _, err := b.Job(t.Context(), j.ID); {
				case err == nil:
					on = append(on, j.Partition)
				case !errors.Is(err, ErrNoJob):
					t.Fatal(err)
				}
			}
			slices.Sort(on)
			if goOn := strings.Join(on, " "); goOn != c.goOn {
				t.Errorf("%s: the jobs of %q go on, want %q", name, goOn, c.goOn)
			}
		}
	})
}

// TestDroppedPartitionComesBackEmpty: a partition that takes the name of one that was dropped has none of its job.
func TestDroppedPartitionComesBackEmpty(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		b.exec(t, "CREATE TABLE user.a (id BIGINT, at DATETIME) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS "+
			"THAN (10), PARTITION p1 VALUES LESS THAN (20))")
		p := b.declare(t, b.named("a"))
		job := b.begin(t, NewJob{Policy: p, Partition: "p1", Tasks: make([]TaskRange, 1)})
		for _, change := range []string{"DROP PARTITION p1", "ADD PARTITION (PARTITION p1 VALUES LESS THAN (20))"} {
			g := b.stage(t, Intent{Kind: IntentAlter, Table: p.Table, Clears: strings.HasPrefix(change, "DROP")})
			b.exec(t, "ALTER TABLE user.a "+change)
			if err := g.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if now, err := b.Job(t.Context(), job.ID); !errors.Is(err, ErrNoJob) {
			t.Errorf("got %+v, %v, want the job of the partition that was dropped to have ended", now, err)
		}
	})
}
