package ttl

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// TestStatementsAroundTheProxy runs every line of the page that says what becomes of a policy
// after a statement around the proxy.
func TestStatementsAroundTheProxy(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newBrakedFixture(t, cfg, 0)
		var cases []*aroundCase
		for n, line := range linesOfPage(t) {
			cases = append(cases, newAroundCase(f, n, line, f.Store.Server().MariaDB))
		}

		f.Wait("a second in which none of the tables was made", f.NextSecond())
		for _, c := range cases {
			c.change()
		}

		defer f.run(nil)()

		for _, c := range cases {
			c.await()
		}

		for _, c := range cases {
			c.judge()
		}
	})
}

// aroundLine is a line of the page: a statement, and what it does on each server.
type aroundLine struct {
	statement, mariadb, mysql string
	partitioned               bool
}

var aroundRow = regexp.MustCompile("(?m)^\\| `(.+)` \\| (.+) \\| (.+) \\|$")

func linesOfPage(t *testing.T) (all []aroundLine) {
	t.Helper()
	page, err := os.ReadFile("../docs/how-to/around.md")
	if err != nil {
		t.Fatal(err)
	}

	_, text, _ := strings.Cut(string(page), "## What happens after each statement")
	plain, partitioned, _ := strings.Cut(text, "And with two partitions")
	for n, part := range []string{plain, partitioned} {
		for _, found := range aroundRow.FindAllStringSubmatch(part, -1) {
			all = append(all, aroundLine{found[1], found[2], found[3], n == 1})
		}
	}

	if len(all) < 35 {
		t.Fatalf("the page has %d lines", len(all))
	}

	return all
}

// aroundCase is a line with a table of its own.
type aroundCase struct {
	*fixture
	aroundLine
	caseSchema string
	policy     catalog.Policy
	ids        string // what became of them
	want       string // outcome
	refilled   bool   // a row has been put in after the table was emptied
}

func newAroundCase(f *fixture, n int, line aroundLine, mariadb bool) *aroundCase {
	f.T.Helper()
	c := &aroundCase{fixture: f, aroundLine: line, caseSchema: fmt.Sprintf("%s_%d", f.Schema, n), want: line.mysql}
	if mariadb {
		c.want = line.mariadb
	}

	c.ids, c.want, _ = strings.Cut(c.want, ": ")
	f.T.Cleanup(func() {
		ctx := context.WithoutCancel(f.T.Context())
		if err := mysqltest.Insist(ctx, f.Admin, "DROP DATABASE "+c.caseSchema); err != nil {
			f.T.Error(err)
		}
	})

	partitions := ""
	if c.partitioned {
		partitions = " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))"
	}

	c.direct("CREATE TABLE t (id INT PRIMARY KEY, made DATETIME, note VARCHAR(50), n INT, kind ENUM('a','b'))"+
		" CHARACTER SET utf8mb4"+partitions,
		"INSERT INTO t (id, made, n) VALUES (1, '2020-01-01', 1), (2, '2037-01-01', 1)",
		"INSERT INTO t (id, made, n) VALUES (11, '2020-01-01', 1), (12, '2037-01-01', 1)")
	var err error
	c.policy, err = f.Store.Declare(f.T.Context(), catalog.Client{Account: "test"}, catalog.Declaration{
		Table: catalog.Table{Schema: c.caseSchema, Name: "t"},
		Rule: catalog.Rule{
			Column: "made", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1h",
			TimeZone: "UTC", ZoneSource: catalog.ZoneFromTable,
		},
	})
	if err != nil {
		f.T.Fatal(err)
	}
	if _, err := f.Store.Consent(f.T.Context(), "test", c.policy.ID, c.policy.Version, catalog.Consent{}); err != nil {
		f.T.Fatal(err)
	}

	return c
}

// direct runs statements in the schema of the case.
func (c *aroundCase) direct(statements ...string) {
	c.T.Helper()
	conn, err := c.Admin.Conn(c.T.Context())
	if err != nil {
		c.T.Fatal(err)
	}
	defer conn.Close()
	there := []string{"CREATE DATABASE IF NOT EXISTS " + c.caseSchema, "USE " + c.caseSchema}
	for _, s := range append(there, statements...) {
		if err := mysqltest.Insist(c.T.Context(), conn, s); err != nil {
			c.T.Fatalf("%s: %v", s, err)
		}
	}
}

// change runs the statement, and looks at the ids.
func (c *aroundCase) change() {
	c.T.Helper()
	was := c.look()
	c.direct(strings.Split(c.statement, "; ")...)
	if got := idsAfter(was, c.look()); got != c.ids {
		c.T.Errorf("%s: got %s, want %s", c.statement, got, c.ids)
	}
}

func (c *aroundCase) look() tables.Seen {
	c.T.Helper()
	seen, err := c.Store.Look(c.T.Context(), c.policy.Table)
	if err != nil {
		c.T.Fatal(err)
	}
	return seen
}

// idsAfter says what has become of the ids, as the page does.
func idsAfter(was, is tables.Seen) string {
	if !is.Exists {
		return "no table"
	}

	ids := func(s tables.Seen) (all []uint64) {
		for _, i := range s.Incarnation {
			if i.TableID != 0 {
				all = append(all, i.TableID)
			}
		}
		return all
	}

	before, after := ids(was), ids(is)
	noun := "id"
	if len(is.Incarnation) > 1 && len(was.Incarnation) > 1 {
		noun = "ids"
	}

	kept, moved := 0, 0
	for _, i := range is.Incarnation {
		k := slices.IndexFunc(was.Incarnation, func(k tables.Identity) bool { return k.Partition == i.Partition })
		switch {
		case i.TableID == 0:
		case slices.Contains(before, i.TableID):
			kept++
		case k >= 0:
			moved++
		}
	}

	switch {
	case len(after) == 0:
		return "no id"
	case kept == 0:
		return "new " + noun
	case moved > 0:
		return "other " + noun
	default:
		return "same " + noun
	}
}

// outcome is what became of the policy, in the words of the page.
func (c *aroundCase) outcome() string {
	c.T.Helper()
	p, err := c.Store.PolicyByID(c.T.Context(), c.policy.ID)
	if err != nil {
		c.T.Fatal(err)
	}

	known, err := c.Store.Identities(c.T.Context(), p.ID)
	if err != nil {
		c.T.Fatal(err)
	}

	var held []string
	for _, i := range known {
		if i.Held.Holds() {
			held = append(held, i.Partition)
		}
	}

	switch {
	case p.State == catalog.PolicyDisarmed:
		return "disarmed" + c.told(catalog.EventDisarmed)
	case p.Approval.Required:
		return "waits" + c.told(catalog.EventBraked)
	case len(held) == 1:
		return held[0] + " waits" + c.told(catalog.EventHeld)
	case len(held) > 1:
		return strings.Join(held, ", ") + " wait" + c.told(catalog.EventHeld)
	case c.state() == "paused":
		return "paused"
	case c.told(catalog.EventFollowed) == "":
		return "goes on"
	default:
		return "nothing"
	}
}

// told says so if the event is missing.
func (c *aroundCase) told(kind catalog.EventKind) string {
	c.T.Helper()
	events, err := c.Store.Events(c.T.Context(), catalog.Filter{Table: c.policy.Table, Limit: 100})
	if err != nil {
		c.T.Fatal(err)
	}
	if slices.ContainsFunc(events, func(e catalog.Event) bool { return e.Kind == kind }) {
		return ""
	}
	return " without an event"
}

// state is that of the open job.
func (c *aroundCase) state() string {
	open := fmt.Sprintf("SELECT COALESCE(MAX(state), '') FROM %s_c.job WHERE policy_id = %d",
		c.Schema, c.policy.ID)
	return c.Text(open)
}

// await waits until the policy is as the page says. All cases are under way at the same time, and the
// first one waits for most of the others, too.
func (c *aroundCase) await() {
	c.T.Helper()
	for deadline := time.Now().Add(mysqltest.Patience); !c.settled(); work.Wait(c.T.Context(), 100*time.Millisecond) {
		if time.Now().After(deadline) {
			c.T.Fatalf("%s: got %s, want %s", c.statement, c.outcome(), c.want)
		}
	}
}

// settled reports whether the policy is as the page says. Where the table was emptied, a
// row that comes later has to go.
func (c *aroundCase) settled() bool {
	c.T.Helper()
	switch got := c.outcome(); {
	case got != c.want:
		return false
	case c.want == "waits":
		return c.state() == "needs approval"
	case c.want != "goes on" && c.want != "nothing":
		return true
	case !c.refilled && c.ran() && c.Text("SELECT COUNT(*) FROM "+c.caseSchema+".t") == "0":
		c.direct("INSERT INTO t (id, made) VALUES (13, '2020-01-01')")
		if _, err := c.Store.RequestRun(c.T.Context(), "test", c.policy.ID); err != nil {
			c.T.Fatal(err)
		}
		c.refilled = true
	}

	return c.expired() == "0"
}

// ran reports whether a job has ended: one that starts now may have looked at the table already.
func (c *aroundCase) ran() bool {
	return c.Text(fmt.Sprintf("SELECT COUNT(*) FROM %s_c.job_history WHERE policy_id = %d", c.Schema,
		c.policy.ID)) != "0"
}

func (c *aroundCase) expired() string {
	return c.Text("SELECT COUNT(*) FROM " + c.caseSchema + ".t WHERE made < '2026-01-01'")
}

// judge looks at the rows, when all tables have settled and jobs have run.
func (c *aroundCase) judge() {
	c.T.Helper()
	held, partitions := strings.CutSuffix(strings.TrimSuffix(c.want, "s"), " wait")
	switch {
	case c.want == "goes on", c.want == "nothing", c.ids == "no table":
	case partitions:
		in := "SELECT COUNT(*) FROM " + c.caseSchema + ".t PARTITION (" + held + ") WHERE made < '2026-01-01'"
		c.Wait("the rows of the other partitions to go", func() bool { return c.expired() == c.Text(in) })
	default:
		if left := c.Text("SELECT COUNT(*) FROM " + c.caseSchema + ".t"); left != "4" {
			c.T.Errorf("%s: %s rows are left, want all 4", c.statement, left)
		}
	}

	p, err := c.Store.PolicyByID(c.T.Context(), c.policy.ID)
	if err != nil || c.want == "goes on" && p.Approved() && p.Approval.By == "test" {
		c.T.Errorf("%s: got %v, approval %+v, want that it has ended", c.statement, err, p.Approval)
	}
}
