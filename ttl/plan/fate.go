package plan

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Fate is what becomes of a partition, and when.
type Fate struct {
	tables.Partition

	DueAt time.Time // from when on everything below its bound has expired; zero if that cannot be said
	Text  string
}

// FateSource is what is asked of the catalog about partitions; *catalog.Store is one.
type FateSource interface {
	WholeSource
	Values(ctx context.Context) (setting.Values, error)
	Clock(ctx context.Context) (time.Time, error)
	Identities(ctx context.Context, policy uint64) (tables.Incarnation, error)
	StillKept(ctx context.Context, d catalog.Departure) (bool, error)
	Share(ctx context.Context) (catalog.Throttle, error)
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
	if err := goWhole(ctx, q, from, p, f, fates, cutoff, now); err != nil {
		return nil, err
	}

	waits := notNow(p, now)
	for i := range fates {
		x := &fates[i]
		x.DueAt = dueAt(x.Partition, c, p.Terms)
		if x.Text != fateNone {
			x.Text += waits
		}
		if place, _ := remembered.At(x.Name); place.Held.Holds() {
			x.Text = "held: " + place.Held.Text
		}
	}

	ahead, err := aheadText(ctx, q, from, p, f, now)
	if err != nil {
		return nil, err
	}
	if ahead != "" {
		fates[len(fates)-1].Text += "; partitions: " + ahead
	}

	kept, err := keptOf(ctx, from, p, now)
	return append(fates, kept...), err
}

// goWhole says which of the partitions in which everything has expired leave the table whole, and why
// others do not, if the policy asks for it.
func goWhole(ctx context.Context, q tables.Querier, from FateSource, p catalog.Policy, f *tables.Facts, fates []Fate,
	cutoff Cutoff, now time.Time,
) error {
	if p.Terms.Options.Partition == "" {
		return nil
	}

	values, err := from.Values(ctx)
	if err != nil {
		return err
	}
	expired, err := NewPredicate(p.Rule.Column, cutoff, values[setting.DateFloor])
	if err != nil {
		return err
	}
	stay, _, err := ReadStaying(ctx, q, p.Terms, &f.Layout, f.Children)
	if err != nil {
		return err
	}
	whole, err := ReadWhole(ctx, q, from, p, f, stay, now)
	if err != nil {
		return err
	}

	for i := range fates {
		x := &fates[i]
		if x.Text != fateWhole {
			continue
		}
		if why := whole.Why(f, x.Name, expired); why != "" {
			x.Text = fateWhole + ", but " + why
		} else {
			x.Text = "whole (" + whole.How + "): everything below its bound has expired"
		}
	}
	return nil
}

// notNow says what the policy waits for, if nothing becomes of any partition before.
func notNow(p catalog.Policy, now time.Time) string {
	switch {
	case !p.Rule.Enabled:
		return "; not while TTL_ENABLE is OFF"
	case p.State != catalog.PolicyArmed:
		return "; not while its policy is " + string(p.State)
	case p.Paused.InForce(now):
		return "; not while it is paused"
	case p.Approval.Required:
		return "; not before APPROVE TTL JOB FOR " + p.Table.String() + ": " + p.Approval.Reason
	}
	return ""
}

// keptOf are partitions that have left the table, and are kept as tables for a time.
func keptOf(ctx context.Context, from FateSource, p catalog.Policy, now time.Time) (all []Fate, err error) {
	departures, err := from.Departures(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	for _, d := range departures {
		if d.State != catalog.DepartureKept && d.State != catalog.DepartureEnding {
			continue
		}
		there, err := from.StillKept(ctx, d)
		if err != nil {
			return nil, err
		}
		x := Fate{Partition: tables.Partition{Name: d.Partition, Rows: int64(d.Due), Below: d.Bound}}
		switch {
		case !there:
			x.Text = "gone: it had become " + d.Side.String() + ", which is not there any more, or is another table now"
		case d.Until.IsZero():
			x.Text = "has come back: what came in meanwhile is in " + d.Side.String() + until(d)
		default:
			held, err := heldBack(ctx, from, d, now)
			if err != nil {
				return nil, err
			}
			x.Text = "gone: kept as " + d.Side.String() + until(d) + because(d) + held + "; RESTORE TTL PARTITION " +
				ddl.Quote(d.Partition) + " FOR " + p.Table.String()
		}
		all = append(all, x)
	}
	return all, nil
}

// because says why a table is kept beyond its grace.
func because(d catalog.Departure) string {
	if d.Reason == "" {
		return ""
	}
	return ", since " + d.Reason
}

// heldBack says why a table is there although its grace is over, if that is because of signals.
func heldBack(ctx context.Context, from FateSource, d catalog.Departure, now time.Time) (string, error) {
	if now.Before(d.Until) {
		return "", nil
	}
	t, err := from.Share(ctx)
	switch {
	case err != nil || !t.InForce():
		return "", err
	case t.Own.Bounds() && t.Own.Share < t.Share: // of the node that decides, and ends what is over
		return ", held back by " + t.Own.HeldBy, nil
	case t.Share < 1 && t.HeldBy != "":
		return ", held back by " + t.HeldBy, nil
	}
	return "", nil
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
		case f.Unfit() != "":
			text = "none: " + f.Unfit()
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
