package tables

import (
	"fmt"
	"slices"
	"strings"
)

// Columns is the paging key of a table, in key order.
type Columns []Column

// Select lists the expressions that read a Key.
func (cs Columns) Select() string {
	parts := make([]string, len(cs))
	for i, c := range cs {
		parts[i] = c.Select()
	}
	return strings.Join(parts, ", ")
}

// Order lists the columns for ORDER BY.
func (cs Columns) Order() string {
	parts := make([]string, len(cs))
	for i, c := range cs {
		parts[i] = c.Quoted()
	}
	return strings.Join(parts, ", ")
}

// ReverseOrder is Order from the other end.
func (cs Columns) ReverseOrder() string {
	parts := make([]string, len(cs))
	for i, c := range cs {
		parts[i] = c.Quoted() + " DESC"
	}
	return strings.Join(parts, ", ")
}

// After is the condition of keys strictly after k. The empty key gives "TRUE".
//
// Row constructors such as (a, b) > (1, 2) read the whole index on both servers; the expanded form
//
//	a >= 1 AND (a > 1 OR a = 1 AND (b > 2))
//
// is a range on every key part. The leading term is redundant and helps optimizers that look at one
// term only.
func (cs Columns) After(k Key) (string, error) { return cs.Bound(k, ">", ">") }

// From is the condition of keys at or after k.
func (cs Columns) From(k Key) (string, error) { return cs.Bound(k, ">", ">=") }

// UpTo is the condition of keys at or before k.
func (cs Columns) UpTo(k Key) (string, error) { return cs.Bound(k, "<", "<=") }

// Between is the condition of keys after one and up to another; a nil key is an open end. What both
// begin with is compared once: MySQL's estimates are better for it, and the text shorter.
func (cs Columns) Between(from, to Key) (string, error) {
	same := 0
	for same < min(len(from), len(to), len(cs))-1 && from[same] == to[same] {
		same++
	}

	var parts []string
	for i := range same {
		equal, err := cs[i].compare("=", from[i])
		if err != nil {
			return "", err
		}
		parts = append(parts, equal)
	}

	for _, end := range []struct {
		key   Key
		bound func(Columns, Key) (string, error)
	}{{from, Columns.After}, {to, Columns.UpTo}} {
		if len(end.key) == 0 {
			continue
		}

		bound, err := end.bound(cs[same:], end.key[same:])
		if err != nil {
			return "", err
		}

		parts = append(parts, "("+bound+")")
	}

	if len(parts) == 0 {
		return "TRUE", nil
	}

	return strings.Join(parts, " AND "), nil
}

// Bound compares all columns but the last with op and the last with lastOp.
func (cs Columns) Bound(k Key, op, lastOp string) (string, error) {
	if len(k) == 0 {
		return "TRUE", nil
	}
	if len(k) != len(cs) {
		return "", fmt.Errorf("key has %d values for %d columns", len(k), len(cs))
	}

	last := len(cs) - 1
	cond, err := cs[last].compare(lastOp, k[last])
	if err != nil {
		return "", err
	}

	for i := last - 1; i >= 0; i-- {
		beyond, err := cs[i].compare(op, k[i])
		if err != nil {
			return "", err
		}

		equal, err := cs[i].compare("=", k[i])
		if err != nil {
			return "", err
		}

		cond = beyond + " OR " + equal + " AND (" + cond + ")"
	}

	if last == 0 {
		return cond, nil
	}

	lead, err := cs[0].compare(op+"=", k[0])
	if err != nil {
		return "", err
	}

	return lead + " AND (" + cond + ")", nil
}

// In is the condition of exactly the given keys. A single one is written column by column: for the list of one row
// MariaDB finds no index in DELETE and UPDATE, and reads and locks the whole table.
func (cs Columns) In(keys []Key) (string, error) {
	if len(keys) == 0 {
		return "FALSE", nil
	}

	apart := len(cs) > 1 && len(keys) == 1 || cs.apart()
	write := cs.row
	if apart {
		write = cs.equal
	}

	rows := make([]string, len(keys))
	for i, k := range keys {
		if len(k) != len(cs) {
			return "", fmt.Errorf("key has %d values for %d columns", len(k), len(cs))
		}

		row, err := write(k)
		if err != nil {
			return "", err
		}

		rows[i] = row
	}

	switch {
	case apart:
		return "(" + strings.Join(rows, " OR ") + ")", nil
	case len(cs) > 1:
		return "(" + cs.Order() + ") IN (" + strings.Join(rows, ", ") + ")", nil
	default:
		return cs.Order() + " IN (" + strings.Join(rows, ", ") + ")", nil
	}
}

// apart reports that keys must be compared column by column: inside a row constructor MySQL
// compares ENUM, SET and BIT by another rule than outside and finds nothing.
func (cs Columns) apart() bool {
	return len(cs) > 1 && slices.ContainsFunc(cs, func(c Column) bool { return c.Kind == Ordinal || c.Kind == Bits })
}

// row writes a key as a row constructor, or alone when it has one column.
func (cs Columns) row(k Key) (string, error) {
	parts := make([]string, len(cs))
	for i, c := range cs {
		lit, err := c.Literal(k[i])
		if err != nil {
			return "", err
		}
		parts[i] = lit
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return "(" + strings.Join(parts, ", ") + ")", nil
}

// equal writes a key as a conjunction.
func (cs Columns) equal(k Key) (string, error) {
	parts := make([]string, len(cs))
	for i, c := range cs {
		part, err := c.compare("=", k[i])
		if err != nil {
			return "", err
		}
		parts[i] = part
	}
	return "(" + strings.Join(parts, " AND ") + ")", nil
}
