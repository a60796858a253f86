package plan

import (
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Alternative is one of the plans that there are for a table, and what it would cost now.
type Alternative struct {
	Plan       Way     `json:"plan"`
	RowsRead   int64   `json:"rows_read"`  // index entries and rows, by one job
	Statements int64   `json:"statements"` // that read or delete
	Lag        float64 `json:"lag_seconds"`
	Chosen     bool    `json:"chosen,omitempty"`
	Needs      string  `json:"needs,omitempty"` // the statement without which there is no such plan
}

const (
	// pageRows and blockRows are what one statement reads at most by the index, and by the key.
	pageRows, blockRows = 1000, 20_000
	// readsPerSecond is about how fast rows are read that stay, where nothing has to wait for a disk.
	readsPerSecond = 500_000
	// promptly is from which interval on a missing index is worth a line, however small the table.
	promptly = 10 * time.Second
)

// alternatives compares the plans for the table: a row that expires just after a job has begun waits
// for the next one, and until that is done. To delete what is due now takes so many seconds.
func (v *preview) alternatives(deleting float64) []Alternative {
	all, due := v.inAll(), v.due.Expired
	interval := v.Terms.Timing.Interval.Seconds()

	var list []Alternative
	if v.now.KeyIndex != "" {
		list = append(list, Alternative{
			Plan: WalkIndex, RowsRead: 2*due + 1, Statements: 2*parts(due, pageRows) + 1, Lag: interval + deleting,
			Needs: v.addIndex(),
		}, Alternative{
			Plan: WalkRange, RowsRead: all.Rows + due, Statements: 2 * max(parts(all.Rows, blockRows), 1),
			Lag: interval + deleting + float64(all.Rows)/readsPerSecond,
		})
	}
	for i := range list {
		list[i].Chosen = list[i].Plan == v.choice.Way
	}

	return list
}

func parts(rows, each int64) int64 { return (rows + each - 1) / each }

// addIndex is the statement that gives the table an index on time; empty if it has one.
func (v *preview) addIndex() string {
	if v.now.TimeIndex != "" {
		return ""
	}
	return "ALTER TABLE " + v.Table.String() + " ADD INDEX (" + ddl.Quote(v.Rule.Column) + ")"
}

// String is an alternative for people.
func (a Alternative) String() string {
	text := fmt.Sprintf("about %d rows read with %d statements, rows go within %s", a.RowsRead, a.Statements,
		time.Duration(a.Lag*float64(time.Second)).Round(time.Second))
	if a.Chosen {
		text += " (chosen)"
	}
	if a.Needs != "" {
		text += "; needs " + a.Needs
	}
	return text
}

// withoutIndex is what it costs that jobs begin every few seconds and have no index to go by.
func (v *preview) withoutIndex() string {
	if v.now.TimeIndex != "" || v.Terms.Timing.Interval > promptly || v.Terms.Timing.Cron != nil {
		return ""
	}

	rows := v.inAll()
	text := fmt.Sprintf("jobs every %s without an index on %s: each reads all of %s rows", v.Terms.Timing.Interval,
		v.Rule.Column, about(rows.Rows, rows.Exact))
	if each := v.Usual.PerHour * v.Terms.Timing.Interval.Hours(); v.Usual.Runs > 0 && each > 0 {
		text += fmt.Sprintf(", about %.0f for each row that it deletes", max(float64(rows.Rows)/each, 1))
	}
	return text + "; " + v.addIndex()
}
