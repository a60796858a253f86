package plan

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Alternative is one of the plans that there could be for a table, and what it would cost now.
type Alternative struct {
	Plan       Way     `json:"plan"`
	RowsRead   int64   `json:"rows_read"`  // index entries and rows, by one job
	Statements int64   `json:"statements"` // that read or delete
	Lag        float64 `json:"lag_seconds"`
	Chosen     bool    `json:"chosen,omitempty"`
	Needs      string  `json:"needs,omitempty"`   // the statement without which there is no such plan
	WhyNot     string  `json:"why_not,omitempty"` // why there can be none; then nothing else is said

	short string // Needs for people, if that is long
}

// ByPartition is the plan of a table of which partitions go whole, and the rows of others by one of the
// other plans. It is compared with them, but no job has it: each partition has a job of its own.
const ByPartition Way = "partition"

const (
	// pageRows and blockRows are what one statement reads at most by the index, and by the key.
	pageRows, blockRows = 1000, 20_000
	// departing is how many statements let a partition go, besides those that count its rows.
	departing = 5
)

// alternatives compares the plans for the table: a row that expires just after a job has begun waits
// for the next one, and until that is done. To delete what is due now takes so many seconds.
func (v *preview) alternatives(deleting float64) []Alternative {
	var list []Alternative
	if due, read := v.due.Expired, v.read(); v.now.KeyIndex != "" {
		list = append(list, v.byIndex(due, deleting), v.byKey(read, due, deleting))
	}
	for i := range list {
		list[i].Chosen = list[i].Plan == v.choice.Way
	}
	if v.now.KeyIndex != "" {
		list = append(list, v.queue(deleting))
	}
	if !v.Brief {
		list = append(list, v.partition(deleting))
	}
	return list
}

func (v *preview) interval() float64 { return v.Terms.Timing.Interval.Seconds() }

// apart is the longest time between two jobs, as schedule and windows have it.
func (v *preview) apart() float64 {
	t := v.Terms.Timing
	longest := t.Interval
	if t.Cron != nil {
		longest = t.Cron.LongestGap()
	}
	for _, window := range []*ddl.Window{t.Window, v.Window} {
		if window != nil {
			longest = max(longest, window.Closed())
		}
	}
	return longest.Seconds()
}

// byIndex is what the index on time would cost.
func (v *preview) byIndex(due int64, deleting float64) Alternative {
	needs := v.addIndex()
	if needs == "" && !v.IndexScan {
		needs = "SET GLOBAL " + setting.EnableIndexScan + " = ON"
	}
	return Alternative{
		Plan: WalkIndex, RowsRead: 2*due + 1, Statements: 2*parts(due, pageRows) + 1, Lag: v.apart() + deleting,
		Needs: needs,
	}
}

// byKey is what it would cost to read so many rows by key.
func (v *preview) byKey(read, due int64, deleting float64) Alternative {
	return Alternative{
		Plan: WalkRange, RowsRead: read + due, Statements: 2 * max(parts(read, blockRows), 1),
		Lag: v.apart() + deleting + float64(read)/readsPerSecond,
	}
}

// read is how many rows a job would read by key: those of partitions in which nothing is due are left
// out.
func (v *preview) read() int64 {
	near := DuePartitions(v.facts, v.Rule.Column, v.cutoff)
	if len(near) == len(v.facts.Partitions) {
		return v.inAll().Rows
	}
	return max(rowsOf(near), v.due.Expired)
}

func rowsOf(partitions []tables.Partition) (rows int64) {
	for _, p := range partitions {
		rows += p.Rows
	}
	return rows
}

// queue is what the expiry queue would cost, with each job's share of a census.
func (v *preview) queue(deleting float64) Alternative {
	terms := v.Terms
	terms.Options.Plan = ddl.PlanQueue
	asked := Queueing{Terms: terms, IndexScan: v.IndexScan, Now: v.Now, Census: v.Census}
	if why := v.now.unqueued(asked); why != "" {
		return Alternative{Plan: DrainQueue, WhyNot: why}
	}

	due, share := v.due.Expired, int64(float64(v.read())*min(v.interval()/CensusEvery(v.Terms).Seconds(), 1))
	a := Alternative{
		Plan: DrainQueue, RowsRead: 3*due + 1 + share, Lag: v.apart() + deleting,
		Statements: 3*parts(due, pageRows) + 1 + 3*parts(share, blockRows),
		Chosen:     v.choice.Way.queued(),
	}
	if v.Terms.Options.Plan != ddl.PlanQueue {
		a.Needs = "ALTER TABLE " + v.Table.String() + " " + ddl.OptionPlan + " = '" + ddl.PlanQueue + "'"
	}
	return a
}

// partition is what partitions by the TTL column would cost that go whole once everything in them has
// expired. Those in which only some has expired go by rows.
func (v *preview) partition(deleting float64) Alternative {
	if len(v.facts.Partitions) == 0 {
		return v.divided(deleting)
	}
	if v.refusal != "" {
		return Alternative{Plan: ByPartition, WhyNot: v.refusal}
	}

	whole := rowsOf(v.leaving)
	rest := max(v.due.Expired-whole, 0)
	a := v.byRows(max(v.read()-whole, rest), rest, deleting*share(rest, v.due.Expired))
	if v.now.TimeIndex == "" { // by which a look at the first and the last row would do
		a.RowsRead += whole
	}
	for _, p := range v.leaving {
		a.Statements += departing + parts(p.Rows, blockRows)
	}

	if a.Chosen = v.Terms.Options.Partition != ""; !a.Chosen {
		a.Needs = "ALTER TABLE " + v.Table.String() + " " + ddl.OptionPartition + " = '" + ddl.PartitionDrop + "'"
	}
	return a
}

// divided is what the advised partitions would cost a table that has none. What is due now goes by
// rows all the same: none of it is in a partition that could leave.
func (v *preview) divided(deleting float64) Alternative {
	r := v.rotation
	if r == nil || r.Statement == "" {
		why := "nobody knows how the table could be divided"
		if r != nil {
			why = r.Note
		}
		return Alternative{Plan: ByPartition, WhyNot: why}
	}

	all := v.inAll()
	edge := int64(float64(max(all.Rows-all.Expired-all.Null, 0)) * r.share)
	a := v.byRows(all.Expired+edge, all.Expired, deleting)
	a.Needs = r.Statement
	if before, _, found := strings.Cut(r.Statement, " (PARTITION "); found {
		a.short = fmt.Sprintf("%s (… %d partitions …), and %s", before, strings.Count(r.Statement, "PARTITION p"),
			ddl.OptionPartition)
	}
	return a
}

// byRows is what it would cost to delete rows that are due out of those of some partitions.
func (v *preview) byRows(read, due int64, deleting float64) Alternative {
	a := v.byKey(read, due, deleting)
	if v.now.TimeIndex != "" {
		a = v.byIndex(due, deleting)
	}
	a.Plan, a.Needs = ByPartition, ""
	return a
}

func share(part, of int64) float64 { return float64(part) / float64(max(of, 1)) }

// costsOfQueue says what an expiry queue costs, and what it does not know.
func (v *preview) costsOfQueue() string {
	every := CensusEvery(v.Terms)
	return fmt.Sprintf("the expiry queue in the catalog has an entry of about 100 bytes for each row that expires "+
		"within %s, written to the binary log when it comes and when it goes; all rows are read every %s, and a row "+
		"that comes with an old date, or whose date is moved back, waits for that",
		ddl.FormatDuration(censusesAhead*every), ddl.FormatDuration(every))
}

func parts(rows, each int64) int64 { return (rows + each - 1) / each }

// addIndex is the statement that gives the table an index on time; empty if it has one.
func (v *preview) addIndex() string {
	if v.now.TimeIndex != "" {
		return ""
	}
	return "ALTER TABLE " + v.Table.String() + " ADD INDEX (" + ddl.Quote(v.Rule.Column) + ")"
}

func number(n int64, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// String is an alternative for people.
func (a Alternative) String() string {
	if a.WhyNot != "" {
		return "none: " + a.WhyNot
	}
	text := fmt.Sprintf("about %s read with %s, rows go within %s", number(a.RowsRead, "row"),
		number(a.Statements, "statement"), ddl.FormatDuration(time.Duration(a.Lag*float64(time.Second))))
	if a.Chosen {
		text += " (chosen)"
	}
	if needs := cmp.Or(a.short, a.Needs); needs != "" {
		text += "; needs " + needs
	}
	return text
}

// withoutIndex is what it costs that jobs begin every few seconds and have no index to go by.
func (v *preview) withoutIndex() string {
	if v.now.TimeIndex != "" || v.choice.Way.queued() || !v.Terms.Timing.Prompt() {
		return ""
	}

	rows := v.inAll()
	text := fmt.Sprintf("jobs every %s without an index on %s: each reads all of %s rows",
		ddl.FormatDuration(v.Terms.Timing.Interval), v.Rule.Column, about(rows.Rows, rows.Exact))
	if each := v.Usual.PerHour * v.Terms.Timing.Interval.Hours(); v.Usual.Runs > 0 && each > 0 {
		text += fmt.Sprintf(", about %.0f for each row that it deletes", max(float64(rows.Rows)/each, 1))
	}
	return text + "; " + v.addIndex()
}
