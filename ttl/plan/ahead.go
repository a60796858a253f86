package plan

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Ahead is what is to be done so that a table has its partitions before they are needed
// (TTL_PARTITION_AHEAD). The last partitions are the pattern: how far apart their bounds are, and how
// they are named.
type Ahead struct {
	// Statement makes the next partitions; empty if there are enough of them.
	Statement string
	Names     []string // of those, and of the one for all the rest if that is made anew
	// Rest is the partition for all the rest, which has to be empty; empty for none.
	Rest string
	// Until is up to when there are partitions without it, Left how many are to follow.
	Until time.Time
	Left  int
	Half  bool // they last for half of the time that was asked for
}

// ReadAhead says what a policy's table needs now. It must be asked by the account that would make the
// partitions.
func ReadAhead(
	ctx context.Context, q tables.Querier, from WholeSource, p catalog.Policy, f *tables.Facts, now time.Time,
) (a Ahead, why string, err error) {
	c, found := f.Column(p.Rule.Column)
	if !found {
		return a, "there is no column " + p.Rule.Column, nil
	}
	cutoff, err := CutoffOf(p.Terms, c, now)
	if err != nil {
		return a, "", err
	}
	present := cutoff.now.UTC()
	if c.Kind != tables.Timestamp {
		present = cutoff.wall
	}

	ahead := p.Terms.Options.Ahead
	a, why = AheadOf(f, p.Rule.Column, present.Add(ahead))
	a.Half = a.Until.After(present.Add(ahead / 2))
	if why != "" || a.Statement == "" {
		return a, why, nil
	}
	if from.Server().Cluster != "" {
		return a, "the members of a cluster do not keep each other's locks on tables; make them yourself, and set " +
			"TTL_PARTITION_AHEAD = ''", nil
	}
	if why, err = lackingForWhole(ctx, q, from, f, ddl.PartitionExchange); why != "" || err != nil || a.Rest == "" {
		return a, why, err
	}
	if why, err = Placed(ctx, q, f); why != "" {
		why += ", which would be lost"
	}
	return a, why, err
}

// aheadText says what becomes of a table's coming partitions; empty without TTL_PARTITION_AHEAD.
func aheadText(
	ctx context.Context, q tables.Querier, from WholeSource, p catalog.Policy, f *tables.Facts, now time.Time,
) (string, error) {
	if p.Terms.Options.Ahead == 0 {
		return "", nil
	}
	a, why, err := ReadAhead(ctx, q, from, p, f, now)
	if err != nil {
		return "", err
	}
	all, err := from.Departures(ctx, p.ID)
	if err != nil {
		return "", err
	}
	for _, d := range all {
		if d.How == catalog.HowAhead && why == "" && a.Statement != "" &&
			(d.State == catalog.DepartureRefused || d.State == catalog.DepartureWaits) {
			why = d.Reason
		}
	}
	switch {
	case why != "":
		return "none are made ahead: " + why, nil
	case a.Statement == "":
		return "there are enough ahead, until " + a.Until.Format(time.DateTime), nil
	default:
		return fmt.Sprintf("%d are to be made ahead, from %s on", len(a.Made())+a.Left,
			a.Until.Format(time.DateTime)), nil
	}
}

// Made are the names of the partitions that were not there before.
func (a Ahead) Made() []string {
	return slices.DeleteFunc(slices.Clone(a.Names), func(name string) bool { return name == a.Rest })
}

const (
	mostAtOnce  = 50   // partitions that one statement makes: the table is locked meanwhile
	mostMissing = 1000 // that are made without being asked for, after a long pause
)

// AheadOf says what a table needs to have partitions until then, a time that is read like the column.
// why is set if nobody can say, or if that would be too much.
func AheadOf(f *tables.Facts, column string, until time.Time) (a Ahead, why string) {
	c, found := f.Column(column)
	known := f.Partitions
	if len(known) > 0 && known[len(known)-1].Last() {
		a.Rest = known[len(known)-1].Name
		known = known[:len(known)-1]
	}
	switch {
	case f.Unfit() != "":
		return a, f.Unfit()
	case !found || len(f.Partitions) == 0:
		return a, "the table has no partitions"
	case slices.ContainsFunc(f.Partitions, func(p tables.Partition) bool { return p.Divided }):
		return a, "the table has subpartitions"
	case strings.Contains(f.Partitions[0].Expression, "`,`"):
		return a, "the table is divided by several columns"
	case len(known) < 2:
		return a, "there are not two partitions with bounds that show how far apart they are to be; make them yourself"
	}

	g := growth{by: c}
	if why := g.learn(known); why != "" {
		return a, why
	}
	for _, p := range f.Partitions {
		g.taken = append(g.taken, strings.ToLower(p.Name))
	}

	ends := g.missing(until)
	if a.Until = g.last; len(ends) == 0 {
		return a, ""
	}
	if len(ends) > mostMissing {
		return a, fmt.Sprintf("more than %d partitions are missing after %s: make the next ones yourself, or one that "+
			"takes all in between", mostMissing, ddl.Quote(g.like.Name))
	}

	a.Left = max(len(ends)-mostAtOnce, 0)
	names, list, why := g.partitions(ends[:len(ends)-a.Left])
	if a.Names = names; why != "" {
		return a, why
	}
	if a.Rest == "" {
		a.Statement = "ALTER TABLE " + f.Target("").Name() + " ADD PARTITION (" + list + ")"
		return a, ""
	}
	rest := f.Partitions[len(f.Partitions)-1]
	a.Statement = divide(f, rest, list)
	a.Names = append(a.Names, rest.Name)
	return a, ""
}

// growth is the pattern of a table's partitions.
type growth struct {
	by    tables.Column
	like  tables.Partition // the last one with a bound
	last  time.Time        // where that ends
	step  step
	names naming
	taken []string // names, in lower case
}

// learn reads the pattern from the last partitions. The lowest one has only an end.
func (g *growth) learn(known []tables.Partition) (why string) {
	known = known[max(len(known)-4, 0):]
	ends := make([]time.Time, len(known))
	for i, p := range known {
		end, read := p.End(g.by)
		if !read || end.Nanosecond() != 0 {
			return "the bound of partition " + ddl.Quote(p.Name) + " cannot be read"
		}
		ends[i] = end
	}

	n := len(known)
	g.like, g.last = known[n-1], ends[n-1]
	g.step = stepBetween(ends[n-2], ends[n-1])
	for i := max(n-3, 0); i+1 < n; i++ {
		if !g.step.after(ends[i], 1).Equal(ends[i+1]) {
			return fmt.Sprintf("partitions %s and %s are not as far apart as the last two; make the next three "+
				"yourself, as far apart as they are to be", ddl.Quote(known[i].Name), ddl.Quote(known[i+1].Name))
		}
	}
	g.names = namingOf(known, ends, g.step)
	return ""
}

// missing are the bounds that are to follow up to a time: one more than mostMissing at the most.
func (g *growth) missing(until time.Time) (ends []time.Time) {
	for end := g.last; !end.After(until) && len(ends) <= mostMissing; {
		if end = g.step.after(end, 1); end.Year() > 9999 {
			break
		}
		ends = append(ends, end)
	}
	return ends
}

// partitions names those that are to follow up to these bounds, and lists them as SQL.
func (g *growth) partitions(ends []time.Time) (names []string, list, why string) {
	parts, begin := make([]string, 0, len(ends)), g.last
	for _, end := range ends {
		bound, written := g.bound(end)
		if !written {
			return nil, "", "the next bound cannot be written like the last one (" + g.like.Below + ")"
		}
		name := g.name(begin, end)
		names = append(names, name)
		parts = append(parts, "PARTITION "+ddl.Quote(name)+" VALUES LESS THAN ("+bound+")")
		begin = end
	}
	return names, strings.Join(parts, ", "), ""
}

// step is how far apart bounds are: months, days, or less.
type step struct {
	months, days int
	less         time.Duration
}

func stepBetween(a, b time.Time) step {
	first := func(t time.Time) bool { return t.Equal(firstOfMonth(t)) }
	if first(a) && first(b) {
		return step{months: (b.Year()-a.Year())*12 + int(b.Month()) - int(a.Month())}
	}
	gap := b.Sub(a)
	if gap%oneDay != 0 {
		return step{less: gap}
	}
	return step{days: int(gap / oneDay)}
}

// after is n steps after a bound, or before it.
func (s step) after(t time.Time, n int) time.Time {
	return t.AddDate(0, n*s.months, n*s.days).Add(time.Duration(n) * s.less)
}

// bound writes where a partition ends as the last one does it.
func (g *growth) bound(end time.Time) (text string, written bool) {
	switch expression := strings.ToLower(g.like.Expression); {
	case g.like.Method == "RANGE COLUMNS" && end.Equal(midnight(end)) && len(g.like.Below) == len("'2006-01-02'"):
		text = end.Format("'2006-01-02'")
	case g.like.Method == "RANGE COLUMNS":
		text = end.Format("'2006-01-02 15:04:05'")
	case strings.HasPrefix(expression, "year("):
		text = strconv.Itoa(end.Year())
	case strings.HasPrefix(expression, "to_days("):
		text = strconv.FormatInt(end.Unix()/secondsADay+daysTo1970, 10)
	case strings.HasPrefix(expression, "to_seconds("):
		text = strconv.FormatInt(end.Unix()+daysTo1970*secondsADay, 10)
	default:
		text = strconv.FormatInt(end.Unix(), 10)
	}

	p := g.like
	p.Below = text
	back, read := p.End(g.by)
	return text, read && back.Equal(end)
}

const (
	daysTo1970  = 719_528
	secondsADay = 24 * 60 * 60
)

// naming is how partitions are named: by the date at which they begin or end, by numbers, or in no way
// that is understood.
type naming struct {
	prefix, suffix string
	layout         string
	of             func(begin, end time.Time) time.Time
	number, digits int // of the last one
}

// layouts of dates in names, the longest first. A week is that of ISO, which package time cannot write.
func layouts() []string {
	return []string{
		"2006010215", "2006_01_02_15", "20060102", "2006_01_02", "2006-01-02", week, "200601", "2006_01", "2006-01",
		"2006", "060102", "0601",
	}
}

const week = "week"

func written(layout string, t time.Time) string {
	if layout != week {
		return t.Format(layout)
	}
	year, n := t.ISOWeek()
	return fmt.Sprintf("%04dw%02d", year, n)
}

// namingOf finds how the last two are named. Where there is but one besides the lowest, it decides.
func namingOf(known []tables.Partition, ends []time.Time, s step) naming {
	n := len(known)
	begins := []func(begin, end time.Time) time.Time{
		func(begin, _ time.Time) time.Time { return begin },
		func(_, end time.Time) time.Time { return end.Add(-time.Second) },
		func(_, end time.Time) time.Time { return end },
	}
	last, before := known[n-1].Name, known[n-2].Name
	for _, layout := range layouts() {
		if blind(layout, s) {
			continue
		}
		for _, of := range begins {
			text := written(layout, of(s.after(ends[n-1], -1), ends[n-1]))
			at := strings.LastIndex(strings.ToLower(last), text)
			if at < 0 {
				continue
			}
			x := naming{prefix: last[:at], suffix: last[at+len(text):], layout: layout, of: of}
			if n == 2 || strings.EqualFold(x.dated(s.after(ends[n-2], -1), ends[n-2]), before) {
				return x
			}
		}
	}

	digits := len(last) - len(strings.TrimRight(last, "0123456789"))
	if digits > 0 && digits < 10 {
		x := naming{prefix: last[:len(last)-digits], digits: digits}
		x.number, _ = strconv.Atoi(last[len(last)-digits:])
		one, _ := strconv.Atoi(strings.TrimPrefix(before, x.prefix))
		if n == 2 || strings.HasPrefix(before, x.prefix) && one == x.number-1 {
			return x
		}
	}
	return naming{}
}

// blind reports whether a layout does not tell two partitions apart that are a step from each other.
func blind(layout string, s step) bool {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	next := s.after(at, 1)
	return written(layout, at) == written(layout, next)
}

func (x naming) dated(begin, end time.Time) string {
	return x.prefix + written(x.layout, x.of(begin, end)) + x.suffix
}

// name is that of the next partition. If it is taken, or there is no pattern, it is one of the bound.
func (g *growth) name(begin, end time.Time) string {
	name := ""
	switch {
	case g.names.layout != "":
		name = g.names.dated(begin, end)
	case g.names.digits > 0:
		g.names.number++
		name = fmt.Sprintf("%s%0*d", g.names.prefix, g.names.digits, g.names.number)
	}
	if name == "" || slices.Contains(g.taken, strings.ToLower(name)) {
		name = "p" + begin.Format(g.plainLayout())
	}
	for i, plain := 2, name; slices.Contains(g.taken, strings.ToLower(name)); i++ {
		name = plain + "_" + strconv.Itoa(i)
	}
	g.taken = append(g.taken, strings.ToLower(name))
	return name
}

func (g *growth) plainLayout() string {
	switch {
	case g.step.months > 0 && g.step.months%12 == 0:
		return "2006"
	case g.step.months > 0:
		return "200601"
	case g.step.days > 0:
		return "20060102"
	case g.step.less%time.Hour == 0:
		return "2006010215"
	default:
		return "20060102150405"
	}
}
