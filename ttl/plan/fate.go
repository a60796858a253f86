package plan

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// Fate is what becomes of a partition, and when.
type Fate struct {
	tables.Partition

	DueAt time.Time // from when on everything below its bound has expired; zero if that cannot be said
	Text  string
}

// FateSource is what is asked of the catalog about partitions; *catalog.Store is one.
type FateSource interface {
	Clock(ctx context.Context) (time.Time, error)
	Identities(ctx context.Context, policy uint64) (tables.Incarnation, error)
}

// ErrNoPartitions means that a table is not partitioned.
var ErrNoPartitions = errors.New("the table has no partitions")

// Fates tells what becomes of the partitions of a policy's table, in their order. No row is read.
func Fates(ctx context.Context, q tables.Querier, from FateSource, p catalog.Policy) ([]Fate, error) {
	if p.Unread != "" {
		return nil, errors.New(p.Unread)
	}

	f, err := tables.ReadFacts(ctx, q, p.Table.Schema, p.Table.Name)
	if err != nil {
		return nil, err
	}
	if len(f.Partitions) == 0 {
		return nil, ErrNoPartitions
	}

	now, err := from.Clock(ctx)
	if err != nil {
		return nil, err
	}

	remembered, err := from.Identities(ctx, p.ID)
	if err != nil {
		return nil, err
	}

	c, found := f.Column(p.Rule.Column)
	if !found {
		return nil, fmt.Errorf("there is no column %s", p.Rule.Column)
	}

	cutoff, err := CutoffOf(p.Terms, c, now)
	if err != nil {
		return nil, err
	}

	fates := fatesOf(f, c, cutoff)
	for i := range fates {
		x := &fates[i]
		x.DueAt = dueAt(x.Partition, c, p.Terms)
		if place, _ := remembered.At(x.Name); place.Held.Holds() {
			x.Text = "held: " + place.Held.Text
		}
	}

	return fates, nil
}

// What a partition is in for.
const (
	fateWhole   = "by rows: everything below its bound has expired"
	fatePart    = "by rows: some of it may have expired"
	fateUnknown = "by rows: its bounds tell nothing about the dates in it"
	fateNone    = "none: nothing in it has expired, and no job looks at it"
)

func fatesOf(f *tables.Facts, c tables.Column, cutoff Cutoff) []Fate {
	due := len(DuePartitions(f, c.Name, cutoff))
	fates, before := make([]Fate, len(f.Partitions)), false
	for i, p := range f.Partitions {
		end, known := p.End(c)
		text := fateUnknown
		switch {
		case i >= due:
			text = fateNone
		case known && !end.After(cutoff.upper()):
			text = fateWhole
		case known || before:
			text = fatePart
		}

		fates[i], before = Fate{Partition: p, Text: text}, known
	}

	return fates
}

// mostAhead bounds how far ahead a moment is computed: beyond it, SQL has no date.
const mostAhead = 9999

// dueAt is the first second at which a job's cutoff lies behind a partition; zero if there is none,
// or nobody knows. A cutoff never goes back but for an hour or so, when the clocks do.
func dueAt(p tables.Partition, c tables.Column, t catalog.Terms) time.Time {
	end, known := p.End(c)
	if !known {
		return time.Time{}
	}

	behind := func(now time.Time) bool {
		cutoff, err := CutoffOf(t, c, now)
		return err == nil && !end.After(cutoff.upper())
	}

	first := end.AddDate(0, 0, -2) // before any zone's reading of it
	last := time.Date(mostAhead, 12, 31, 0, 0, 0, 0, time.UTC)
	seconds := int(max(last.Unix()-first.Unix(), 0))
	at := sort.Search(seconds, func(n int) bool { return behind(time.Unix(first.Unix()+int64(n), 0)) })
	if at == seconds {
		return time.Time{}
	}

	return time.Unix(first.Unix()+int64(at), 0).UTC()
}
