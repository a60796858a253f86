package plan

import (
	"fmt"
	"strconv"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// DefaultFloor is the date before which a value counts as a mistake and never expires.
const DefaultFloor = "1970-01-02"

// Predicate is the condition every deleting statement repeats.
type Predicate struct {
	// Column is the quoted TTL column.
	Column string
	// Floor and Cutoff are literals: floor <= column < cutoff.
	Floor, Cutoff string
	// Kind is the type of the column.
	Kind tables.Kind
}

// NewPredicate builds the condition for a column; floor is a date such as DefaultFloor.
func NewPredicate(column string, cutoff Cutoff, floor string) (Predicate, error) {
	day, err := time.Parse(time.DateOnly, floor)
	if err != nil {
		return Predicate{}, fmt.Errorf("date floor %q is not a date such as %s", floor, DefaultFloor)
	}
	if first, _ := time.Parse(time.DateOnly, DefaultFloor); cutoff.Kind == tables.Timestamp && day.Before(first) {
		day = first // a TIMESTAMP cannot be compared with a moment it cannot hold
	}
	lower := day.Format("'2006-01-02 15:04:05'")
	if cutoff.Kind == tables.Date {
		lower = day.Format("'2006-01-02'")
	}
	return Predicate{Column: ddl.Quote(column), Floor: lower, Cutoff: cutoff.Literal(), Kind: cutoff.Kind}, nil
}

// Sargable is the condition in the form an index on the column can serve.
func (p Predicate) Sargable() string {
	return p.Column + " >= " + p.Floor + " AND " + p.Column + " < " + p.Cutoff
}

// Opaque is the same condition in a form that no range optimizer looks into, for statements whose
// rows are named by key. It is the one that decides, since it means the same in every session. A
// TIMESTAMP is compared as the number of seconds that it is, since as a date it would be read in
// the zone that the session has at that row, and a trigger that fires for the row before may have
// set another.
func (p Predicate) Opaque() string {
	return "(" + p.comparable("").Sargable() + ") IS TRUE"
}

// Living is the condition of all other rows, by a cutoff that moves: an expression, of a number of
// seconds for a TIMESTAMP.
func (p Predicate) Living(cutoff string) string {
	return "(" + p.comparable(cutoff).Sargable() + ") IS NOT TRUE"
}

// comparable is the condition by what means the same in every session, and by another cutoff if one
// is given.
func (p Predicate) comparable(cutoff string) Predicate {
	if p.Kind == tables.Timestamp {
		p.Column, p.Floor, p.Cutoff = "UNIX_TIMESTAMP("+p.Column+")", epoch(p.Floor), epoch(p.Cutoff)
	}
	if cutoff != "" {
		p.Cutoff = cutoff
	}
	return p
}

// epoch is the literal of a date in UTC as a number of seconds; what cannot be read is NULL, which
// no comparison matches.
func epoch(literal string) string {
	at, err := time.Parse("'2006-01-02 15:04:05'", literal)
	if err != nil {
		return "NULL"
	}
	seconds := strconv.FormatInt(at.Unix(), 10)
	if fraction := at.Nanosecond() / 1000; fraction > 0 {
		seconds += fmt.Sprintf(".%06d", fraction)
	}
	return seconds
}

// Implausible is the condition of rows that hold a value but never expire: zero dates and dates
// before the floor.
func (p Predicate) Implausible() string { return p.Column + " < " + p.Floor }
