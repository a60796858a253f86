package tables

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Partition is one partition of a partitioned table.
type Partition struct {
	Name  string
	Rows  int64
	Bytes uint64 // with its indexes

	Method     string // RANGE, RANGE COLUMNS, LIST, HASH, …
	Expression string // of the columns that rows are divided by
	Below      string // where it ends, as the server prints it
	Divided    bool   // it has subpartitions
	Comment    string
}

// Last reports whether no partition can come behind it.
func (p Partition) Last() bool { return strings.HasPrefix(p.Below, "MAXVALUE") }

// End is a value of the column that no row of a later partition is below: the reading of a calendar
// and a clock, in UTC fields.
func (p Partition) End(c Column) (end time.Time, known bool) {
	name := ddl.Quote(c.Name)
	of := func(function string) bool { return ddl.SameName(p.Expression, fmt.Sprintf(function, name)) }
	first := (p.Expression + ",")[:min(len(p.Expression), len(name))+1]
	switch {
	case p.Method == "RANGE COLUMNS" && c.Kind != Timestamp && ddl.SameName(first, name+","):
		return p.endOfColumns()
	case p.Method != "RANGE":
		return end, false
	case c.Kind == Timestamp && (of("unix_timestamp(%s)") || of("floor(unix_timestamp(%s))")):
		return p.endByNumber(0, 1<<40, secondOf)
	case c.Kind != Timestamp && of("to_seconds(%s)"):
		return p.endByNumber(secondsADay, daysTo9999*secondsADay, func(n int64) time.Time {
			return secondOf(n - daysTo1970*secondsADay)
		})
	case c.Kind != Timestamp && of("to_days(%s)"):
		return p.endByNumber(1, daysTo9999, dayOf)
	case c.Kind != Timestamp && of("year(%s)"):
		return p.endByNumber(1, 9999, yearOf)
	}

	return end, false
}

// What TO_DAYS says of the first days of 1970 and of the year after 9999.
const (
	daysTo1970 = 719_528
	daysTo9999 = 3_652_425

	secondsADay = 24 * 60 * 60
)

// secondOf, dayOf and yearOf are the first moments with these numbers.
func secondOf(n int64) time.Time { return time.Unix(n, 0).UTC() }

func yearOf(n int64) time.Time { return time.Date(int(n), 1, 1, 0, 0, 0, 0, time.UTC) }

func dayOf(n int64) time.Time { return time.Unix((n-daysTo1970)*secondsADay, 0).UTC() }

// endByNumber reads a bound that is a number within limits, which MAXVALUE is not.
func (p Partition) endByNumber(least, most int64, of func(int64) time.Time) (end time.Time, known bool) {
	n, err := strconv.ParseInt(p.Below, 10, 64)
	if err != nil || n < least || n > most {
		return end, false
	}
	return of(n), true
}

// endOfColumns reads the first of the values of a bound: in all later partitions the first column
// is at least that.
func (p Partition) endOfColumns() (end time.Time, known bool) {
	text, quoted := strings.CutPrefix(p.Below, "'")
	text, _, closed := strings.Cut(text, "'")
	if !quoted || !closed {
		return end, false
	}
	for _, layout := range []string{time.DateOnly, time.DateTime} { // the latter takes fractions as well
		if end, err := time.Parse(layout, text); err == nil {
			return end, true
		}
	}
	return end, false
}
