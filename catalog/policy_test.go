package catalog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ttlproxy/ttlproxy/ddl"
)

func TestDeclareIsReadBackAsItWas(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		table := b.table(t, "a")
		rule := Rule{
			Column: "at", Literal: "'1:30'", Unit: "HOUR_MINUTE", Enabled: true, JobInterval: "1h100m",
			TimeZone: "Europe/Berlin", ZoneSource: ZoneFromTable, Options: map[string]string{"TTL_MAX_LAG": "2h"},
		}
		p, err := b.Declare(t.Context(), b.client(), Declaration{Table: table, Rule: rule})
		if err != nil {
			t.Fatal(err)
		}

		got, err := b.Policy(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rule, got.Rule); diff != "" {
			t.Errorf("rule (-want +got):\n%s", diff)
		}
		if !got.Armed() || got.Version != 1 || got.ID != p.ID || got.Owner != "ann@%" {
			t.Errorf("got %+v, want an armed policy in version 1", got)
		}

		ids, err := b.Identities(t.Context(), p.ID)
		if err != nil || len(ids) != 1 || ids[0].TableID == 0 || ids[0].CreateTime.IsZero() {
			t.Errorf("got identities %+v, %v, want the table's", ids, err)
		}
	})
}

func TestDeclareTheSameChangesNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil {
			t.Fatal(err)
		}
		again := b.declare(t, p.Table)
		if again.Version != p.Version || !again.Approved() {
			t.Errorf("got version %d approved %v, want version %d still approved",
				again.Version, again.Approved(), p.Version)
		}
	})
}

// What was seen of a table says nothing about the policy that somebody has declared on its
// successor since.
func TestDeclareLooksAgain(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		table := b.table(t, "a")
		seen, err := b.Look(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}

		b.exec(t, "DROP TABLE "+table.Schema+".a")
		p := b.declare(t, b.table(t, "a"))

		d := Declaration{Table: table, Rule: p.Rule, Arm: true}
		if _, err := b.declareOn(t.Context(), b.client(), d, Policy{}, seen); !errors.Is(err, ErrPolicyChanged) {
			t.Errorf("got %v, want %v", err, ErrPolicyChanged)
		}
		if again := b.declare(t, table); again.Version != p.Version || !again.Armed() {
			t.Errorf("got %+v, want the policy of the new table as it was", again)
		}
	})
}

// A table that was altered or replaced on another connection is noticed by a declaration that says
// nothing new.
func TestDeclareTheSameOnAnotherTable(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		approve := func(p Policy) {
			t.Helper()
			if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil {
				t.Fatal(err)
			}
		}

		declare := func(d Declaration) Policy {
			t.Helper()
			d.Table = p.Table
			got, err := b.Declare(t.Context(), b.client(), d)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}

		approve(p)

		b.settleClock(t)
		b.exec(t, "ALTER TABLE user.a COMMENT 'an index or a comment does not matter'")

		got := declare(Declaration{Rule: p.Rule, Arm: true})
		if got.Version != p.Version || got.Approved() {
			t.Errorf("altered: got version %d approved %v, want version %d, to be looked at by the brake again",
				got.Version, got.Approved(), p.Version)
		}
		if known, why, err := b.Recognize(t.Context(), "node", got); err != nil || why != "" || len(known) == 0 {
			t.Errorf("altered: got %v, %q, %v, want the table recognized", known, why, err)
		}

		b.exec(t, "INSERT INTO user.a VALUES (1, NOW())") // MySQL builds an empty table anew
		got = declare(Declaration{Rule: p.Rule, Arm: true})
		approve(got)
		b.exec(t, "ALTER TABLE user.a ADD COLUMN note TEXT")

		got = declare(Declaration{Rule: p.Rule})
		if !got.Armed() || got.Approved() || got.Approval.Required || !strings.Contains(got.Shape.Columns, "`note`") {
			t.Errorf("a new column: got %+v, want it armed on the new columns, not approved", got)
		}

		b.exec(t, "ALTER TABLE user.a ADD COLUMN other TEXT, ALGORITHM=COPY")
		got = declare(Declaration{Rule: p.Rule})
		if !got.Armed() || got.Approved() || !got.Approval.Required ||
			!strings.Contains(got.Approval.Reason, "rebuilt or replaced") {
			t.Errorf("rebuilt: got %+v, want it to wait for approval", got)
		}
		if _, err := b.Consent(t.Context(), "dba", got.ID, got.Version, Consent{}); err != nil {
			t.Fatal(err)
		}

		b.exec(t, "ALTER TABLE user.a DROP COLUMN other")
		got = declare(Declaration{Rule: p.Rule})
		if got.State != PolicyDisarmed || !strings.Contains(got.Reason, "`other` is gone") {
			t.Errorf("a column less, not armed: got %s %q, want it disarmed for the column", got.State, got.Reason)
		}

		got = declare(Declaration{Rule: p.Rule, Arm: true})
		if !got.Armed() || got.Approved() || strings.Contains(got.Shape.Columns, "`other`") {
			t.Errorf("a column less, armed: got %+v, want it armed on the columns that are left, not approved", got)
		}

		approve(got)
		b.exec(t, "DROP TABLE user.a")
		b.exec(t, "CREATE TABLE user.a (id BIGINT PRIMARY KEY, at DATETIME, note TEXT)")

		got = declare(Declaration{Rule: p.Rule, Arm: true})
		if !got.Armed() || got.Approved() {
			t.Errorf("replaced: got armed %v approved %v, want it armed and not approved", got.Armed(), got.Approved())
		}
		if _, why, err := b.Recognize(t.Context(), "node", got); err != nil || why != "" {
			t.Errorf("replaced: got %q, %v, want the new table recognized", why, err)
		}
	})
}

// A partition that was replaced on another connection is held until the policy is armed again,
// whatever the state of the rest.
func TestArmingReleasesHeldPartitions(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		b.exec(t,
			"CREATE TABLE user.a (id BIGINT, at DATETIME) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN "+
				"(10), PARTITION p1 VALUES LESS THAN (20))")
		p := b.declare(t, b.named("a"))
		b.exec(t, "ALTER TABLE user.a TRUNCATE PARTITION p0")
		b.exec(t, "INSERT INTO user.a VALUES (1, NOW())")
		b.exec(t, "ALTER TABLE user.a REBUILD PARTITION p0")

		known, why, err := b.Recognize(t.Context(), "node", p)
		if err != nil || !strings.Contains(why, "partition p0 was rebuilt") || !known.AnyHeld() {
			t.Fatalf("got %+v, %q, %v, want p0 held", known, why, err)
		}

		held := func(when string, want bool) {
			t.Helper()
			if known, err := b.Identities(t.Context(), p.ID); err != nil || known.AnyHeld() != want {
				t.Errorf("%s: got %+v, %v, want held %v", when, known, err, want)
			}
		}

		declare := func(d Declaration) {
			t.Helper()
			d.Table = p.Table
			if _, err := b.Declare(t.Context(), b.client(), d); err != nil {
				t.Fatal(err)
			}
		}

		declare(Declaration{Rule: p.Rule})
		held("declared again", true)
		often := p.Rule
		often.JobInterval = "5m"
		declare(Declaration{Rule: often})
		held("another job interval", true)
		g := b.stage(t, Intent{Kind: IntentAlter, Table: p.Table})
		b.exec(t, "ALTER TABLE user.a ADD PARTITION (PARTITION p2 VALUES LESS THAN MAXVALUE)")

		if err := g.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}

		held("another partition", true)
		declare(Declaration{Rule: often, Arm: true})
		held("armed", false)
	})
}

func TestChangeEndsJobsAndTakesApprovalBack(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil {
			t.Fatal(err)
		}

		job := b.job(t, p, 1)
		rule := p.Rule
		rule.Unit = "HOUR"

		changed, err := b.Declare(t.Context(), b.client(), Declaration{Table: p.Table, Rule: rule})
		if err != nil {
			t.Fatal(err)
		}
		if changed.Version != 2 || changed.Approved() {
			t.Errorf("got version %d approved %v, want 2 and not approved", changed.Version, changed.Approved())
		}

		ended, err := b.EndedJob(t.Context(), job)
		if err != nil || ended.State != JobCancelled {
			t.Errorf("got job %v, %v, want it cancelled", ended.State, err)
		}

		rule.JobInterval = "2h"
		if _, err := b.Consent(t.Context(), "dba", p.ID, 2, Consent{}); err != nil {
			t.Fatal(err)
		}

		changed, err = b.Declare(t.Context(), b.client(), Declaration{Table: p.Table, Rule: rule})
		if err != nil || changed.Version != 3 || !changed.Approved() {
			t.Errorf("another job interval: got version %d approved %v %v, want 3 and still approved",
				changed.Version, changed.Approved(), err)
		}
	})
}

func TestRemoveTakesEverythingButHistory(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		b.job(t, p, 2)
		if err := b.Remove(t.Context(), b.client(), p.Table); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Policy(t.Context(), p.Table); !errors.Is(err, ErrNoPolicy) {
			t.Errorf("got %v, want no policy", err)
		}

		for _, table := range []string{"policy", "policy_identity", "schedule", "job", "task"} {
			if n := b.scalar(t, "SELECT COUNT(*) FROM {"+table+"}"); n != 0 {
				t.Errorf("%d rows left in %s", n, table)
			}
		}

		if n := b.scalar(t, "SELECT COUNT(*) FROM {job_history}"); n != 1 {
			t.Errorf("got %d ended jobs, want 1", n)
		}
		if err := b.Remove(t.Context(), b.client(), p.Table); !errors.Is(err, ErrNoPolicy) {
			t.Errorf("a second time: got %v, want %v", err, ErrNoPolicy)
		}
	})
}

func TestDisarmAndArmAgain(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		b.job(t, p, 1)
		if err := b.Disarm(t.Context(), "node 1", p.ID, p.Version, "the table was replaced"); err != nil {
			t.Fatal(err)
		}

		got, err := b.Policy(t.Context(), p.Table)
		if err != nil || got.Armed() || got.Reason != "the table was replaced" {
			t.Errorf("got %+v, %v, want it disarmed with the reason", got, err)
		}
		if err := b.Disarm(t.Context(), "node 2", p.ID, p.Version, "late"); !errors.Is(err, ErrPolicyChanged) {
			t.Errorf("an old version: got %v, want %v", err, ErrPolicyChanged)
		}

		rule := got.Rule
		rule.JobInterval = "5h"
		got, err = b.Declare(t.Context(), b.client(), Declaration{Table: p.Table, Rule: rule})
		if err != nil || got.Armed() {
			t.Errorf("a change of the interval: got armed %v, %v, want it to stay disarmed", got.Armed(), err)
		}

		got, err = b.Declare(t.Context(), b.client(), Declaration{Table: p.Table, Rule: rule, Arm: true})
		if err != nil || !got.Armed() || got.Approved() {
			t.Errorf("got armed %v approved %v, %v, want it armed and braked", got.Armed(), got.Approved(), err)
		}
	})
}

func TestSchemaRefusesForbiddenStates(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		b.job(t, p, 1)

		for _, q := range []string{
			"UPDATE {policy} SET state = 'ready'",
			"UPDATE {policy} SET state = 'disarmed', reason = ''",
			"UPDATE {policy} SET state = 'stopped'",
			"UPDATE {policy} SET approved_version = version + 1",
			"UPDATE {job} SET state = 'finished'",
			"UPDATE {job} SET state = 'paused', reason = ''",
			"UPDATE {task} SET state = 'running', owner = NULL",
			"UPDATE {pause} SET held = TRUE, held_reason = 'x' WHERE policy_id <> 0",
			"INSERT INTO {generation} (id) VALUES (2)",
		} {
			_, err := b.db.ExecContext(t.Context(), b.sql(q))
			if !isServerError(err, ddl.CodeCheckMariaDB, ddl.CodeCheckMySQL) {
				t.Errorf("%s: got %v, want a violated CHECK", q, err)
			}
		}
	})
}

func TestEveryOpenAndEndedStateIsAccepted(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		job := b.job(t, p, 1)
		for _, state := range OpenJobStates() {
			b.exec(t, "UPDATE {job} SET state = ?, reason = 'why'", state)
		}

		if err := b.FinishJob(t.Context(), job.ID, job.Fence, JobCancelled, ""); err != nil {
			t.Fatal(err)
		}

		for _, state := range EndJobStates() {
			b.exec(t, "UPDATE {job_history} SET state = ?", state)
		}
	})
}

// job creates a running job with so many tasks.
func (b *bench) job(t *testing.T, p Policy, tasks int) Job {
	t.Helper()
	return b.begin(t, NewJob{Policy: p, Tasks: make([]TaskRange, tasks)})
}

// begin creates a job for what expired an hour ago.
func (b *bench) begin(t *testing.T, n NewJob) Job {
	t.Helper()
	now, err := b.Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n.Cutoff, n.CutoffLiteral = now.Add(-time.Hour), "2000-01-01 00:00:00"
	job, err := b.CreateJob(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return job
}
