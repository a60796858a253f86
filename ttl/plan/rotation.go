package plan

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// Rotation is how a table could be divided by its TTL column, so that jobs look only at the
// partitions in which something may be due.
type Rotation struct {
	Statement string `json:"statement,omitempty"` // the ALTER TABLE
	Note      string `json:"note,omitempty"`      // what it changes besides, or why there is none

	share float64 // of the living rows that a partition would have, if they were spread evenly
}

// width is how long a partition is: finer ones for shorter intervals, so that a table has some
// dozens of them.
type width struct {
	upTo   time.Duration // the longest interval that it is for
	name   string        // of a partition, by where it begins
	bound  string        // in a statement
	begins func(time.Time) time.Time
	next   func(time.Time) time.Time
}

const oneDay = 24 * time.Hour

func widths() []width {
	const byDay = "'2006-01-02'"
	days := func(n int) func(time.Time) time.Time {
		return func(t time.Time) time.Time { return t.AddDate(0, 0, n) }
	}
	months := func(n int) func(time.Time) time.Time {
		return func(t time.Time) time.Time { return t.AddDate(0, n, 0) }
	}

	return []width{
		{
			2 * oneDay, "p2006010215", "'2006-01-02 15:04:05'",
			func(t time.Time) time.Time { return t.Truncate(time.Hour) },
			func(t time.Time) time.Time { return t.Add(time.Hour) },
		},
		{92 * oneDay, "p20060102", byDay, midnight, days(1)},
		{
			366 * oneDay, "p20060102", byDay,
			func(t time.Time) time.Time { return midnight(t).AddDate(0, 0, -(int(t.Weekday())+6)%7) }, // to Monday
			days(7),
		},
		{6 * 366 * oneDay, "p200601", byDay, firstOfMonth, months(1)},
		{
			0, "p2006", byDay, // for all others
			func(t time.Time) time.Time { return time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC) },
			months(12),
		},
	}
}

// widthFor is the width for an interval of that many seconds.
func widthFor(seconds int64, kind tables.Kind) width {
	all := widths()
	if kind == tables.Date {
		all = all[1:] // which has no hours
	}
	for _, w := range all {
		if seconds <= int64(w.upTo/time.Second) {
			return w
		}
	}
	return all[len(all)-1]
}

func midnight(t time.Time) time.Time { return t.Truncate(oneDay) }

func firstOfMonth(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

const (
	comingPartitions = 3   // that a new rotation has ready
	mostPartitions   = 120 // of it
)

// rotationOf writes the statement that divides a table, in the words of both servers; nil for a table
// that is divided already.
func rotationOf(
	ctx context.Context, q tables.Querier, f *tables.Facts, r catalog.Rule, cutoff Cutoff,
) (*Rotation, error) {
	if len(f.Partitions) > 0 {
		return nil, nil
	}

	c, found := f.Column(r.Column)
	if !found {
		return &Rotation{Note: "there is no column " + r.Column}, nil
	}

	why, err := undivided(ctx, q, f, c)
	if why != "" || err != nil {
		return &Rotation{Note: why}, err
	}

	key, note, why, err := dividedKey(ctx, q, f, c)
	if why != "" || err != nil {
		return &Rotation{Note: why}, err
	}

	return &Rotation{
		Statement: "ALTER TABLE " + f.Target("").Name() + key + " PARTITION BY " + division(c, cutoff), Note: note,
		share: shareOf(c, cutoff),
	}, nil
}

// undivided says why the servers would refuse partitions; empty if they would not, for all that is
// known.
func undivided(ctx context.Context, q tables.Querier, f *tables.Facts, c tables.Column) (string, error) {
	switch {
	case f.Unfit() != "":
		return f.Unfit(), nil
	case c.Generated:
		return c.Quoted() + " is a generated column", nil
	case len(f.Children.Names()) > 0:
		return "no foreign key may point at a table with partitions: " + strings.Join(f.Children.Names(), ", "), nil
	}

	keys, err := names(ctx, q, selectForeignKeys, f.Schema, f.Table)
	if err != nil {
		return "", fmt.Errorf("read foreign keys of %s.%s: %w", f.Schema, f.Table, err)
	}
	if len(keys) > 0 {
		return "a table with partitions may have no foreign keys: " + strings.Join(keys, ", "), nil
	}

	indexes, err := names(ctx, q, selectOddIndexes, f.Schema, f.Table)
	if err != nil {
		return "", fmt.Errorf("read indexes of %s.%s: %w", f.Schema, f.Table, err)
	}
	if len(indexes) > 0 {
		return "a table with partitions may have no full-text or spatial indexes: " + strings.Join(indexes, ", "), nil
	}

	columns, err := names(ctx, q, selectSpatialColumns, f.Schema, f.Table)
	if err != nil {
		return "", fmt.Errorf("read columns of %s.%s: %w", f.Schema, f.Table, err)
	}
	if len(columns) > 0 {
		return "a table with partitions may have no spatial columns: " + strings.Join(columns, ", "), nil
	}

	return sharedSpace(ctx, q, f)
}

// sharedSpace says that a table is in a tablespace that others share, which MySQL has no partitions in.
func sharedSpace(ctx context.Context, q tables.Querier, f *tables.Facts) (string, error) {
	text, err := shownTable(ctx, q, f)
	if err != nil {
		return "", err
	}
	space := saysSpace.FindStringSubmatch(unquoted.ReplaceAllString(text, "''"))
	if space == nil || space[1] == "innodb_file_per_table" {
		return "", nil
	}
	return "no table with partitions may be in a tablespace that others share; ALTER TABLE " + f.Target("").Name() +
		" TABLESPACE = innodb_file_per_table makes one of its own", nil
}

var saysSpace = regexp.MustCompile("/\\*!50100 TABLESPACE `([^`]+)` ")

// shareOf is which part of a row's life one partition would be.
func shareOf(c tables.Column, cutoff Cutoff) float64 {
	now := clockOf(c, cutoff)
	life := now.Sub(cutoff.Wall)
	w := widthFor(int64(life/time.Second), c.Kind)
	begin := w.begins(now)
	return min(float64(w.next(begin).Sub(begin))/float64(max(life, 1)), 1)
}

// clockOf is now, as the column's dates are divided: those of a TIMESTAMP by days in UTC.
func clockOf(c tables.Column, cutoff Cutoff) time.Time {
	if c.Kind == tables.Timestamp {
		return cutoff.now.UTC()
	}
	return cutoff.wall
}

// division is what follows PARTITION BY: the first partition is for whatever is older than the rest,
// and the last for what comes after them.
func division(c tables.Column, cutoff Cutoff) string {
	now := clockOf(c, cutoff)
	w := widthFor(now.Unix()-cutoff.Wall.Unix(), c.Kind)
	first := cutoff.Wall
	if c.Kind == tables.Timestamp && first.Unix() < 0 {
		first = time.Unix(0, 0).UTC()
	}

	begins := []time.Time{w.begins(first)}
	for at, coming := begins[0], 0; coming < comingPartitions; {
		if at = w.next(at); at.After(now) {
			coming++
		}
		if begins = append(begins, at); len(begins) > mostPartitions {
			begins = begins[1:]
		}
	}

	by, bound := "RANGE COLUMNS ("+c.Quoted()+")", func(t time.Time) string { return t.Format(w.bound) }
	if c.Kind == tables.Timestamp {
		seconds := "UNIX_TIMESTAMP(" + c.Quoted() + ")"
		if c.Digits > 0 {
			seconds = "FLOOR(" + seconds + ")" // MySQL divides by whole numbers only
		}
		by = "RANGE (" + seconds + ")"
		bound = func(t time.Time) string { return fmt.Sprint(t.Unix()) }
	}

	name, parts := "p_older", make([]string, 0, len(begins)+1)
	for _, at := range begins {
		parts = append(parts, fmt.Sprintf("PARTITION %s VALUES LESS THAN (%s)", name, bound(at)))
		name = at.Format(w.name)
	}
	parts = append(parts, "PARTITION p_later VALUES LESS THAN (MAXVALUE)")

	return by + " (" + strings.Join(parts, ", ") + ")"
}
