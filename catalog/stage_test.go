package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// stage stops policies for a DDL of a client that stays connected.
func (b *bench) stage(t *testing.T, intents ...Intent) *Staged {
	t.Helper()
	g, err := b.Stage(t.Context(), b.client(), intents)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// state returns how a table's policy stands; "" for none.
func (b *bench) state(t *testing.T, table Table) PolicyState {
	t.Helper()
	p, err := b.Policy(t.Context(), table)
	if errors.Is(err, ErrNoPolicy) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.State
}

func (b *bench) wantState(t *testing.T, name string, want PolicyState) {
	t.Helper()
	if got := b.state(t, b.named(name)); got != want {
		t.Errorf("%s: got state %q, want %q", name, got, want)
	}
}

func (b *bench) named(name string) Table { return Table{Schema: b.user, Name: name} }

func TestStageStopsAndCommitFollows(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil {
			t.Fatal(err)
		}

		job := b.job(t, p, 1)
		g := b.stage(t, Intent{Kind: IntentAlter, Table: p.Table})
		b.wantState(t, "a", PolicyStopped)
		if _, err := b.ClaimTask(t.Context(), Claim{Node: b.node(t)}); !errors.Is(err, ErrNoTask) {
			t.Errorf("claim while stopped: got %v, want %v", err, ErrNoTask)
		}

		b.exec(t, "ALTER TABLE user.a ADD COLUMN note TEXT")
		if err := g.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}

		got, err := b.Policy(t.Context(), p.Table)
		if err != nil || !got.Armed() || got.Version != 3 || !got.Approved() {
			t.Errorf("got %+v, %v, want version 3 armed and still approved", got, err)
		}
		if !strings.Contains(got.Shape.Columns, "`note`") {
			t.Errorf("got columns %q, want the new one among them", got.Shape.Columns)
		}
		if now, err := b.Job(t.Context(), job.ID); err != nil || now.Version != got.Version {
			t.Errorf("got job version %d, %v, want it re-stamped to %d", now.Version, err, got.Version)
		}
		if err := g.Commit(t.Context()); !errors.Is(err, ErrStageOver) {
			t.Errorf("a second commit: got %v, want %v", err, ErrStageOver)
		}
	})
}

// TestJobsEndWithTheirTable: no job goes on in a table that somebody has put in its place, or altered, around the
// proxy, only because a statement came through the proxy afterwards: it was begun for other rows, or other dates.
func TestJobsEndWithTheirTable(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		alters := func(t *testing.T, p Policy) {
			t.Helper()
			g := b.stage(t, Intent{Kind: IntentAlter, Table: p.Table})
			b.exec(t, "ALTER TABLE user."+p.Table.Name+" ADD INDEX (at)")
			if err := g.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		declares := func(t *testing.T, p Policy) { t.Helper(); b.declare(t, p.Table) }
		fromDump := func(t *testing.T, p Policy) {
			t.Helper()
			g := b.stage(t, Intent{Kind: IntentAlter, Table: p.Table, Rule: new(testRule()), FromDump: true})
			if err := g.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		swap := []string{
			"CREATE TABLE user.other{t} LIKE user.{t}", "INSERT INTO user.other{t} VALUES (1, '2001-01-01')",
			"RENAME TABLE user.{t} TO user.gone{t}, user.other{t} TO user.{t}",
		}
		redate := []string{"ALTER TABLE user.{t} DROP COLUMN at, ADD COLUMN at DATETIME DEFAULT '2001-01-01'"}
		rebuild := []string{"ALTER TABLE user.{t} FORCE"}

		cases := map[string]struct {
			around []string
			then   func(*testing.T, Policy)
		}{
			"swapped": {swap, alters}, "redated": {redate, alters}, "rebuilt": {rebuild, alters},
			"swappedanew": {swap, declares}, "redatedanew": {redate, declares}, "rebuiltanew": {rebuild, declares},
			"dumped": {nil, fromDump},
		}
		jobs := map[string]Job{}
		for name := range cases {
			p := b.declare(t, b.table(t, name))
			b.exec(t, "INSERT INTO user."+name+" VALUES (1, '2099-01-01')")
			if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil {
				t.Fatal(err)
			}
			jobs[name] = b.job(t, p, 1)
		}
		time.Sleep(1100 * time.Millisecond) // CREATE_TIME has whole seconds

		for name, c := range cases {
			for _, s := range c.around {
				b.exec(t, strings.ReplaceAll(s, "{t}", name))
			}
			was, err := b.Policy(t.Context(), b.named(name))
			if err != nil {
				t.Fatal(err)
			}
			c.then(t, was)

			got, err := b.Policy(t.Context(), b.named(name))
			if err != nil || got.Approved() {
				t.Errorf("%s: got %+v, %v, want it no longer approved", name, got, err)
			}
			if now, err := b.Job(t.Context(), jobs[name].ID); !errors.Is(err, ErrNoJob) {
				t.Errorf("%s: the job goes on: %+v, %v", name, now, err)
			}
		}
	})
}

// TestOtherDatesAreNotApproved: a TTL column that becomes a TIMESTAMP, or is one no longer, has the dates that the
// zone of the client makes of it, and a DATE those of midnight. No approval and no job covers them.
func TestOtherDatesAreNotApproved(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		for name, c := range map[string]struct {
			was, is string
			others  bool
		}{
			"totimestamp":   {"DATETIME NULL", "TIMESTAMP NULL", true},
			"fromtimestamp": {"TIMESTAMP NULL", "DATETIME NULL", true},
			"todate":        {"DATETIME NULL", "DATE NULL", true},
			"fromdate":      {"DATE NULL", "DATETIME NULL", false},
			"finer":         {"DATETIME NULL", "DATETIME(6) NULL", false},
			"notnull":       {"DATETIME NULL", "DATETIME NOT NULL", false},
		} {
			b.exec(t, "CREATE TABLE user."+name+" (id BIGINT PRIMARY KEY, at "+c.was+")")
			p, rule := b.declare(t, b.named(name)), testRule()
			if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil {
				t.Fatal(err)
			}
			job := b.job(t, p, 1)

			g := b.stage(t, Intent{Kind: IntentAlter, Table: p.Table, Rule: &rule})
			b.exec(t, "ALTER TABLE user."+name+" MODIFY at "+c.is)
			if err := g.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := b.Policy(t.Context(), p.Table)
			if err != nil || !got.Armed() || got.Approved() == c.others {
				t.Errorf("%s: got %+v, %v, want it approved: %v", name, got, err, !c.others)
			}
			_, err = b.Job(t.Context(), job.ID)
			if ended := errors.Is(err, ErrNoJob); c.others && !ended {
				t.Errorf("%s: the job goes on: %v", name, err)
			}
			asked := b.scalar(t, "SELECT COUNT(requested_at) FROM {schedule} WHERE policy_id = ?", p.ID)
			if c.others && asked > 0 {
				t.Errorf("%s: another run is requested at once", name)
			}
		}
	})
}

// TestImportedRowsAreNotApproved brings rows in, in each way that a statement can: neither the
// approval of before nor a job that runs covers them, also when the client is gone and only a look
// at the table is left.
func TestImportedRowsAreNotApproved(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		rule := testRule()
		for name, c := range map[string]struct {
			intent   Intent
			required bool
			end      func(*Staged, context.Context) error
		}{
			"imported":        {Intent{Kind: IntentAlter, Imports: "EXCHANGE PARTITION"}, true, (*Staged).Commit},
			"perhapsimported": {Intent{Kind: IntentAlter, Imports: "IMPORT TABLESPACE"}, true, (*Staged).Settle},
			"discarded":       {Intent{Kind: IntentAlter, Imports: DiscardTablespace}, true, (*Staged).Commit},
			"replaced":        {Intent{Kind: IntentReplace, Rule: &rule}, false, (*Staged).Commit},
		} {
			p := b.declare(t, b.table(t, name))
			if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil {
				t.Fatal(err)
			}

			job := b.job(t, p, 1)
			c.intent.Table = p.Table
			if err := c.end(b.stage(t, c.intent), t.Context()); err != nil {
				t.Fatal(err)
			}

			got, err := b.Policy(t.Context(), p.Table)
			if err != nil || !got.Armed() || got.Approved() || got.Approval.Required != c.required {
				t.Errorf("%s: got %+v, %v, want it armed and not approved, required %v", name, got, err, c.required)
			}
			want := "rows were brought in by " + c.intent.Imports
			if name == "discarded" {
				want = "rows were taken out by DISCARD TABLESPACE, and others may have come in their place"
			}
			if c.required && got.Approval.Reason != want {
				t.Errorf("%s: got reason %q", name, got.Approval.Reason)
			}
			if _, err := b.Job(t.Context(), job.ID); !errors.Is(err, ErrNoJob) {
				t.Errorf("%s: got %v, want the running job ended", name, err)
			}
		}

		p := b.declare(t, b.table(t, "refused"))
		if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil {
			t.Fatal(err)
		}

		job := b.job(t, p, 1)
		if err := b.stage(t,
			Intent{Kind: IntentAlter, Table: p.Table, Imports: "EXCHANGE PARTITION"}).Discard(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Policy(t.Context(), p.Table); err != nil || !got.Approved() || got.Approval.Required {
			t.Errorf("refused: got %+v, %v, want it approved as before", got, err)
		}
		if _, err := b.Job(t.Context(), job.ID); err != nil {
			t.Errorf("refused: got %v, want the job to go on", err)
		}
	})
}

// TestChangeOfTheKeyEndsTheJob: another one takes its place at once if it deletes the same rows, and only then.
func TestChangeOfTheKeyEndsTheJob(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		for name, c := range map[string]struct {
			alter  string
			change func(*Intent, *Rule)
			again  bool
		}{
			"key": {"MODIFY id VARCHAR(40)", nil, true},
			"column": {"RENAME COLUMN at TO made", func(in *Intent, r *Rule) {
				r.Column, in.Rule = "made", r
			}, true},
			"interval": {"MODIFY id VARCHAR(40)", func(in *Intent, r *Rule) { r.Unit, in.Rule = "MINUTE", r }, false},
			"off":      {"MODIFY id VARCHAR(40)", func(in *Intent, r *Rule) { r.Enabled, in.Rule = false, r }, false},
			"dates":    {"MODIFY id VARCHAR(40)", func(in *Intent, r *Rule) { in.Redates, in.Rule = true, r }, false},
		} {
			p := b.declare(t, b.table(t, name))
			job := b.job(t, p, 1)
			rule, in := p.Rule, Intent{Kind: IntentAlter, Table: p.Table}
			if c.change != nil {
				c.change(&in, &rule)
			}
			g := b.stage(t, in)
			b.exec(t, "ALTER TABLE "+p.Table.String()+" "+c.alter)

			if err := g.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}

			b.wantState(t, name, PolicyArmed)
			if _, err := b.Job(t.Context(), job.ID); !errors.Is(err, ErrNoJob) {
				t.Errorf("%s: got %v, want the job of what was to end", name, err)
			}
			ran, err := b.SchedulesOf(t.Context(), p.ID)
			if err != nil {
				t.Fatal(err)
			}
			if asked := len(ran) > 0 && !ran[0].RequestedAt.IsZero(); asked != c.again {
				t.Errorf("%s: another job is asked for: %v, want %v", name, asked, c.again)
			}
		}
	})
}

func TestDiscardRestoresTheOldRule(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		job := b.job(t, p, 1)
		rule := p.Rule

		rule.Unit = "MINUTE"
		if err := b.stage(t, Intent{Kind: IntentAlter, Table: p.Table, Rule: &rule}).Discard(t.Context()); err != nil {
			t.Fatal(err)
		}

		got, err := b.Policy(t.Context(), p.Table)
		if err != nil || !got.Armed() || !got.Rule.Equal(p.Rule) || got.Version != 3 {
			t.Errorf("got %+v, %v, want the old rule armed in version 3", got, err)
		}
		if now, err := b.Job(t.Context(), job.ID); err != nil || now.Version != 3 {
			t.Errorf("got job version %d, %v, want 3", now.Version, err)
		}
	})
}

func TestCreateCommitsOrLeavesNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		rule := testRule()
		create := func(name string) Intent {
			return Intent{Kind: IntentCreate, Table: b.named(name), Rule: &rule, FromDump: true}
		}
		g := b.stage(t, create("a"))
		b.wantState(t, "a", PolicyStaged)
		b.table(t, "a")

		if err := g.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}

		p, err := b.Policy(t.Context(), b.named("a"))
		if err != nil || !p.Armed() || !p.Approval.Required || p.Approved() {
			t.Errorf("got %+v, %v, want it armed and waiting for approval", p, err)
		}
		if err := b.stage(t, create("b")).Discard(t.Context()); err != nil {
			t.Fatal(err)
		}

		b.wantState(t, "b", "")
	})
}

func TestRenamesFollowTheTables(t *testing.T) {
	t.Parallel()
	rename := func(b *bench, from, to string) Intent {
		target := b.named(to)
		return Intent{Kind: IntentRename, Table: b.named(from), To: &target}
	}
	onServers(t, func(t *testing.T, b *bench) {
		a, c := b.declare(t, b.table(t, "a")), b.table(t, "c")
		rule := testRule()
		rule.Unit = "HOUR"

		other, err := b.Declare(t.Context(), b.client(), Declaration{Table: c, Rule: rule})
		if err != nil {
			t.Fatal(err)
		}

		g := b.stage(t, rename(b, "a", "x"), rename(b, "c", "a"), rename(b, "x", "c"))
		b.exec(t, "RENAME TABLE user.a TO user.x, user.c TO user.a, user.x TO user.c")
		if err := g.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}

		for name, want := range map[string]uint64{"a": other.ID, "c": a.ID} {
			p, err := b.Policy(t.Context(), b.named(name))
			if err != nil || p.ID != want || !p.Armed() {
				t.Errorf("%s: got policy %d (%s), %v, want %d armed", name, p.ID, p.State, err, want)
			}
		}
	})
}

func TestOnlineSchemaChangeKeepsThePolicyWithTheName(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "t"))
		if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil {
			t.Fatal(err)
		}

		rule, ghost, old := testRule(), b.named("_t_gho"), b.named("_t_del")
		g := b.stage(t, Intent{
			Kind: IntentCreate, Table: ghost, Rule: &rule, Dormant: true,
			Copy: &Copy{Of: p.ID, Version: p.Version, Column: "at"},
		})
		b.exec(t, "CREATE TABLE user._t_gho LIKE user.t")
		if err := g.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}

		b.wantState(t, "_t_gho", PolicyDormant)
		g = b.stage(t, Intent{Kind: IntentAlter, Table: ghost})
		b.exec(t, "ALTER TABLE user._t_gho ADD COLUMN extra INT")
		if err := g.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}

		g = b.stage(t, Intent{Kind: IntentRename, Table: p.Table, To: &old},
			Intent{Kind: IntentRename, Table: ghost, To: &p.Table})
		b.exec(t, "RENAME TABLE user.t TO user._t_del, user._t_gho TO user.t")
		if err := g.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}

		got, err := b.Policy(t.Context(), p.Table)
		if err != nil || got.ID != p.ID || !got.Armed() || !got.Approved() ||
			!strings.Contains(got.Shape.Columns, "extra") {
			t.Errorf("got %+v, %v, want policy %d armed, approved, on the new table", got, err, p.ID)
		}

		b.wantState(t, "_t_del", PolicyDormant)
		b.wantState(t, "_t_gho", "")
		g = b.stage(t, Intent{Kind: IntentDrop, Table: old})
		b.exec(t, "DROP TABLE user._t_del")

		if err := g.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}

		b.wantState(t, "_t_del", "")
		b.wantState(t, "t", PolicyArmed)
	})
}

func TestSettleSeesWhichTablesWereDropped(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		one, two := b.declare(t, b.table(t, "a")), b.declare(t, b.table(t, "b"))
		g := b.stage(t, Intent{Kind: IntentDrop, Table: one.Table}, Intent{Kind: IntentDrop, Table: two.Table})
		b.exec(t, "DROP TABLE user.b")
		if err := g.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.wantState(t, "a", PolicyArmed)
		b.wantState(t, "b", "")
	})
}

// TestReplacedTableComesBackDisarmed: what was done around the proxy before a statement is judged
// as the engine would have judged it.
func TestReplacedTableComesBackDisarmed(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		for name, c := range map[string]struct {
			columns, row string
			state        PolicyState
			why          string
		}{
			"emptied": {"(id BIGINT PRIMARY KEY, at DATETIME)", "", PolicyArmed, ""},
			"filled": {
				"(id BIGINT PRIMARY KEY, at DATETIME)", "(1, NOW())", PolicyArmed,
				"rebuilt or replaced outside ttlproxy",
			},
			"changed": {"(id BIGINT PRIMARY KEY, at DATE)", "", PolicyDisarmed, "column `at` datetime is now date"},
		} {
			p := b.declare(t, b.table(t, name))
			if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil {
				t.Fatal(err)
			}

			b.exec(t, "DROP TABLE user."+name)
			b.exec(t, "CREATE TABLE user."+name+" "+c.columns)
			if c.row != "" {
				b.exec(t, "INSERT INTO user."+name+" VALUES "+c.row)
			}

			g := b.stage(t, Intent{Kind: IntentAlter, Table: p.Table})
			b.exec(t, "ALTER TABLE user."+name+" ADD COLUMN note TEXT")
			if err := g.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}

			got, err := b.Policy(t.Context(), p.Table)
			if err != nil || got.State != c.state || got.Approved() ||
				!strings.Contains(got.Reason+got.Approval.Reason, c.why) {
				t.Errorf("%s: got %s %q, approval %+v, %v, want it %s, not approved, and %q", name, got.State,
					got.Reason, got.Approval, err, c.state, c.why)
			}
			if asks := c.state == PolicyArmed && c.why != ""; got.Approval.Required != asks {
				t.Errorf("%s: got approval %+v, want it required: %v", name, got.Approval, asks)
			}
		}
	})
}

// TestASettledStatementSettlesNoOther: whoever does not know that his answer was written, and writes it once more, does
// not end the next statement on the table, which is not through yet.
func TestASettledStatementSettlesNoOther(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		first := b.stage(t, Intent{Kind: IntentAlter, Table: p.Table})
		if err := first.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		next := b.stage(t, Intent{Kind: IntentDrop, Table: p.Table})
		for _, again := range []func(context.Context) error{first.Commit, first.Discard, first.Settle} {
			if err := again(t.Context()); !errors.Is(err, ErrStageOver) {
				t.Errorf("the first statement once more: got %v, want %v", err, ErrStageOver)
			}
		}
		b.wantState(t, "a", PolicyStopped)
		if err := next.Discard(t.Context()); err != nil {
			t.Error(err)
		}
		b.wantState(t, "a", PolicyArmed)
	})
}

func TestOneDDLAtATime(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		conn, err := b.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()

		who := b.client()
		if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&who.Connection); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Stage(t.Context(), who, []Intent{{Kind: IntentAlter, Table: p.Table}}); err != nil {
			t.Fatal(err)
		}

		_, err = b.Stage(t.Context(), b.client(), []Intent{{Kind: IntentDrop, Table: p.Table}})
		if !errors.Is(err, ErrTableInDDL) {
			t.Errorf("another DDL: got %v, want %v", err, ErrTableInDDL)
		}
		_, err = b.Declare(t.Context(), b.client(), Declaration{Table: p.Table, Rule: p.Rule})
		if !errors.Is(err, ErrTableInDDL) {
			t.Errorf("a pure TTL change: got %v, want %v", err, ErrTableInDDL)
		}
	})
}

// Each case stages a DDL, runs it or not, loses the client, and lets the sweep look at the table.
func TestSweepSettlesWhatAClientLeftBehind(t *testing.T) {
	t.Parallel()
	newRule := testRule()
	newRule.Unit = "HOUR"
	renamed := func(b *bench) Intent {
		to := b.named("u")
		return Intent{Kind: IntentAlter, Table: b.named("t"), To: &to, Rule: &newRule}
	}
	cases := []struct {
		name   string
		intent func(b *bench) Intent
		ddl    string // "" when the client went before it
		table  string
		want   PolicyState
		unit   string
		late   bool // the statement began a minute before
	}{
		{
			"alter, before",
			func(b *bench) Intent { return Intent{Kind: IntentAlter, Table: b.named("t"), Rule: &newRule} }, "", "t",
			PolicyArmed, "DAY", false,
		},
		{
			"alter, after",
			func(b *bench) Intent { return Intent{Kind: IntentAlter, Table: b.named("t"), Rule: &newRule} },
			"ALTER TABLE user.t ADD note TEXT", "t", PolicyArmed, "HOUR", false,
		},
		{
			"drop of the column, after",
			func(b *bench) Intent { return Intent{Kind: IntentAlter, Table: b.named("t")} },
			"ALTER TABLE user.t DROP at", "t", PolicyDisarmed, "DAY", false,
		},
		{
			"remove, after",
			func(b *bench) Intent { return Intent{Kind: IntentAlter, Table: b.named("t"), Remove: true} },
			"ALTER TABLE user.t ADD note TEXT", "t", "", "", false,
		},
		{
			"drop, before", func(b *bench) Intent { return Intent{Kind: IntentDrop, Table: b.named("t")} }, "", "t",
			PolicyArmed, "DAY", false,
		},
		{
			"drop, after", func(b *bench) Intent { return Intent{Kind: IntentDrop, Table: b.named("t")} },
			"DROP TABLE user.t", "t", "", "", false,
		},
		{
			"truncate, before", func(b *bench) Intent { return Intent{Kind: IntentTruncate, Table: b.named("t")} }, "",
			"t", PolicyArmed, "DAY", false,
		},
		{
			"truncate, after", func(b *bench) Intent { return Intent{Kind: IntentTruncate, Table: b.named("t")} },
			"TRUNCATE user.t", "t", PolicyArmed, "DAY", false,
		},
		{"rename, before", renameTU, "", "t", PolicyArmed, "DAY", false},
		{"rename, after", renameTU, "RENAME TABLE user.t TO user.u", "u", PolicyArmed, "DAY", false},
		{"create, before", createN, "", "n", "", "", false},
		{
			"create, after", createN, "CREATE TABLE user.n (id INT PRIMARY KEY, at DATETIME)", "n", PolicyArmed, "DAY",
			false,
		},
		{
			"alter, failed, and altered directly",
			func(b *bench) Intent { return Intent{Kind: IntentAlter, Table: b.named("t"), Rule: &newRule} },
			"ALTER TABLE user.t COMMENT 'x'", "t", PolicyDisarmed, "DAY", true,
		},
		{
			"remove, failed, and altered directly",
			func(b *bench) Intent { return Intent{Kind: IntentAlter, Table: b.named("t"), Remove: true} },
			"ALTER TABLE user.t COMMENT 'x'", "t", PolicyDisarmed, "DAY", true,
		},
		{
			"alter with a new name, failed, and renamed directly", renamed, "RENAME TABLE user.t TO user.u", "t",
			PolicyDisarmed, "DAY", true,
		},
		{
			"other alter, failed, and altered directly",
			func(b *bench) Intent { return Intent{Kind: IntentAlter, Table: b.named("t")} },
			"ALTER TABLE user.t COMMENT 'x'", "t", PolicyArmed, "DAY", true,
		},
	}

	onServers(t, func(t *testing.T, b *bench) {
		for _, c := range cases {
			b.declare(t, b.table(t, "t"))
			b.settleClock(t)
			client := openDB(t, b.cfg)

			who := b.client()
			if err := client.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&who.Connection); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Stage(t.Context(), who, []Intent{c.intent(b)}); err != nil {
				t.Fatal(c.name, err)
			}
			if n, err := b.Sweep(t.Context()); n != 0 || err != nil {
				t.Errorf("%s: swept %d, %v while the client was there", c.name, n, err)
			}
			if c.late {
				b.exec(t, "UPDATE "+b.schema+
					".policy SET stage_at = stage_at - INTERVAL 1 MINUTE WHERE stage_at IS NOT NULL")
			}
			if c.ddl != "" {
				b.exec(t, c.ddl)
			}
			if err := client.Close(); err != nil {
				t.Fatal(err)
			}

			b.sweepUntilDone(t)
			p, err := b.Policy(t.Context(), b.named(c.table))
			if err != nil && !errors.Is(err, ErrNoPolicy) {
				t.Fatal(err)
			}
			if p.State != c.want || p.Rule.Unit != c.unit {
				t.Errorf("%s: got %q %s %q, want %q %s", c.name, p.State, p.Rule.Unit, p.Reason, c.want, c.unit)
			}

			for _, name := range []string{"t", "u", "n"} {
				if err := b.Remove(t.Context(), who, b.named(name)); err != nil && !errors.Is(err, ErrNoPolicy) {
					t.Fatal(err)
				}
				b.exec(t, "DROP TABLE IF EXISTS user."+name)
			}
		}
	})
}

// TestConnectionsAreSeenBesideAnyText: MySQL does not show who is there while anybody runs a text that
// cannot be converted. Whoever waits for the end of a connection does not depend on that.
func TestConnectionsAreSeenBesideAnyText(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		there, err := ReadServer(t.Context(), b.db)
		if err != nil {
			t.Fatal(err)
		}

		id, said := mysqltest.RunOddText(t, b.db, 3)
		for len(said) == 0 {
			for connection, want := range map[uint64]bool{id: false, 4_000_000_000: true} {
				who := Client{Server: there.Key(), Boot: there.Boot, Connection: connection}
				if gone, err := goneFrom(t.Context(), b.db, there, who); gone != want || err != nil {
					t.Fatalf("connection %d is gone: %v (%v), want %v", connection, gone, err, want)
				}
			}
		}

		if err := <-said; err != nil {
			t.Error(err)
		}
	})
}

func renameTU(b *bench) Intent {
	to := b.named("u")
	return Intent{Kind: IntentRename, Table: b.named("t"), To: &to}
}

func createN(b *bench) Intent {
	rule := testRule()
	return Intent{Kind: IntentCreate, Table: b.named("n"), Rule: &rule}
}

// settleClock lets the second of the table's creation pass, so that CREATE_TIME tells, although the
// time of MariaDB's files is up to a tick of the kernel behind the server's clock.
func (b *bench) settleClock(t *testing.T) {
	t.Helper()
	b.scalar(t, "SELECT SLEEP(1 - MICROSECOND(NOW(6)) / 1000000 + 0.05)")
}

// sweepUntilDone sweeps until the server has noticed that the connection is closed.
func (b *bench) sweepUntilDone(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(mysqltest.Patience); ; b.scalar(t, "SELECT SLEEP(0.02)") {
		n, err := b.Sweep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the stage was never settled")
		}
	}
}
