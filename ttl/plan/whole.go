package plan

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Whole is what decides which partitions of a table may leave it whole (TTL_PARTITION). A DDL judges no
// row, so it is for partitions alone whose bounds say that whatever is in them, or comes, has expired:
// neither the lowest, in which the servers keep rows without a date, nor the last that is left.
// What was put into such a partition against its bounds (WITHOUT VALIDATION) is found by Stays.
type Whole struct {
	How string // the value of TTL_PARTITION; empty for by rows

	all     string            // why none may go whole
	convert bool              // into a table, by MariaDB
	refused map[string]string // what the server has said of a partition, a short time ago
}

// WholeSource is what is asked of the catalog about them; *catalog.Store is one.
type WholeSource interface {
	Server() catalog.Server
	Name(table string) string
	Departures(ctx context.Context, policy uint64) ([]catalog.Departure, error)
}

// ReadWhole reads what can keep partitions of a policy's table from going whole. It must be asked by
// the account that would do it.
func ReadWhole(
	ctx context.Context, q tables.Querier, from WholeSource, p catalog.Policy, f *tables.Facts, stay Staying,
	now time.Time,
) (w Whole, err error) {
	if w.How = p.Terms.Options.Partition; w.How == "" || len(f.Partitions) == 0 {
		return Whole{}, nil
	}

	w.convert = w.How == ddl.PartitionExchange && from.Server().MariaDB
	if w.all = unfitForWhole(f, p, from.Server(), stay); w.all != "" {
		return w, nil
	}
	if w.all, err = lackingForWhole(ctx, q, from, f, w.How); err != nil || w.all != "" {
		return w, err
	}

	triggers, err := triggersOf(ctx, q, f.Schema, f.Table, deletes)
	if err != nil {
		return w, fmt.Errorf("read triggers of %s.%s: %w", f.Schema, f.Table, err)
	}
	if len(triggers) > 0 {
		w.all = "a trigger would not fire: " + strings.Join(triggers, ", ")
		return w, nil
	}

	if w.How == ddl.PartitionExchange && !w.convert {
		if w.all, err = unlikeSide(ctx, q, f); err != nil || w.all != "" {
			return w, err
		}
	}

	w.refused, err = refusals(ctx, from, p.ID, now)
	return w, err
}

// unfitForWhole says what about the table or the server keeps partitions from going whole.
func unfitForWhole(f *tables.Facts, p catalog.Policy, server catalog.Server, stay Staying) string {
	c, found := f.Column(p.Rule.Column)
	_, _, keyed := f.PagingKey()
	divided := slices.ContainsFunc(f.Partitions, func(p tables.Partition) bool { return p.Divided })
	switch {
	case f.Unfit() != "":
		return f.Unfit()
	case !found || c.Generated:
		return "the column is computed"
	case divided:
		return "the table has subpartitions"
	case !stay.Alone():
		return "what becomes of a row depends on other tables"
	case f.Rows > keylessRows && !keyed:
		return "it has no key by which its rows could be counted"
	case p.Terms.Options.Partition == ddl.PartitionExchange && !server.ConvertsPartitions():
		return "only MariaDB 10.7 and later can make a table of a partition while it is locked"
	case server.Cluster != "":
		return "the members of a cluster do not keep each other's locks on tables"
	}
	return ""
}

// lackingForWhole says which right the account lacks. That of triggers shows whether there are any.
func lackingForWhole(
	ctx context.Context, q tables.Querier, from WholeSource, f *tables.Facts, how string,
) (string, error) {
	rights := []string{"ALTER", "DROP", "LOCK TABLES", "TRIGGER"}
	if how == ddl.PartitionExchange {
		rights = []string{"ALTER", "CREATE", "DROP", "INSERT", "LOCK TABLES", "TRIGGER"}
	}
	catalogSchema, _, _ := strings.Cut(from.Name("departure"), ".")
	for _, need := range []struct {
		schema, quoted string
		rights         []string
	}{
		{f.Schema, ddl.Quote(f.Schema), rights},
		{strings.Trim(catalogSchema, "`"), catalogSchema, []string{"LOCK TABLES"}},
	} {
		held, err := rightsOn(ctx, q, need.schema, from.Server().MariaDB)
		if err != nil {
			return "", err
		}
		lacks := slices.DeleteFunc(slices.Clone(need.rights), func(r string) bool { return slices.Contains(held, r) })
		if len(lacks) > 0 {
			return fmt.Sprintf("the service account needs the right: GRANT %s ON %s.* to it", strings.Join(lacks, ", "),
				need.quoted), nil
		}
	}
	return "", nil
}

// rightsOn are the rights on a schema that the asking account has itself; those of roles are not
// listed.
func rightsOn(ctx context.Context, q tables.Querier, schema string, mariadb bool) (all []string, err error) {
	err = tables.EachRow(ctx, q, selectRights(mariadb), []any{schema}, func(rows *sql.Rows) error {
		var right string
		err := rows.Scan(&right)
		all = append(all, right)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read own rights on %s: %w", schema, err)
	}
	return all, nil
}

func selectRights(mariadb bool) string {
	if mariadb {
		return selectRightsMariaDB
	}
	return selectRightsMySQL
}

// NoTrigger is the condition, as SQL, that no trigger would have fired for the rows of a table, and that the account
// which asks would see it. While the table is locked, none can be created.
func NoTrigger(t tables.Target, mariadb bool) string {
	schema, table := tables.Literal(t.Schema), tables.Literal(t.Table)
	sees := fmt.Sprintf(strings.ReplaceAll(selectRights(mariadb), "?", "%s"), schema)
	found := fmt.Sprintf(strings.ReplaceAll(fmt.Sprintf(selectTriggers, deletes), "?", "%s"), schema, table)
	return "'TRIGGER' IN (" + sees + ") AND NOT EXISTS (" + found + ")"
}

// refusedFor is how long a partition goes by rows after the server has refused to let it go whole.
const refusedFor = time.Hour

func refusals(ctx context.Context, from WholeSource, policy uint64, now time.Time) (map[string]string, error) {
	all, err := from.Departures(ctx, policy)
	if err != nil {
		return nil, err
	}
	refused := map[string]string{}
	for _, d := range all {
		switch name := strings.ToLower(d.Partition); {
		case d.State == catalog.DepartureRefused && now.Sub(d.StateAt) < refusedFor:
			refused[name] = d.Reason
		case d.State == catalog.DepartureKept, d.State == catalog.DepartureEnding:
			refused[name] = "another partition of that name is kept as " + d.Side.String() + until(d)
		case d.State == catalog.DepartureRestored:
			refused[name] = d.Side.String() + ", against which it was exchanged, has not been dropped yet"
		}
	}
	return refused, nil
}

// until says for how long the table is kept that a partition has become.
func until(d catalog.Departure) string {
	if d.Until.IsZero() {
		return " until somebody drops it"
	}
	return " until " + catalog.Moment(d.Until)
}

// Why says why a partition goes by rows, by bounds that are compared with the predicate of its job;
// empty if it may go whole.
func (w Whole) Why(f *tables.Facts, partition string, expired Predicate) string {
	at := slices.IndexFunc(f.Partitions, func(p tables.Partition) bool { return p.Name == partition })
	c, found := f.Column(strings.Trim(expired.Column, "`"))
	floor, cutoff, read := expired.bounds()
	switch {
	case w.How == "":
		return "TTL_PARTITION is not set"
	case w.all != "":
		return w.all
	case w.refused[strings.ToLower(partition)] != "":
		return w.refused[strings.ToLower(partition)]
	case w.convert && !plainName.MatchString(partition):
		return "not every MariaDB makes a table of a partition " +
			"whose name has more than letters from a to z, digits and _"
	case at < 0 || !found || !read:
		return "its bounds cannot be read"
	case at == 0:
		return "it is the lowest one, which has the rows without a date as well"
	case len(f.Partitions) == at+1:
		return "it is the last one"
	}

	begin, known := f.Partitions[at-1].End(c)
	if !known {
		return "its bounds cannot be read"
	}
	end, known := f.Partitions[at].End(c)
	switch {
	case !known || end.After(cutoff) || end.Equal(cutoff) && strings.Contains(f.Partitions[at].Expression, ","):
		return "something in it has not expired" // of several columns, the others decide on the bound itself
	case begin.Before(floor):
		return "dates before ttl_date_floor, which never expire, belong in it"
	}

	return ""
}

// plainName is a name that is a file's as it stands: others MariaDB 10.11.14 writes in two ways, and finds no such
// file; 10.11.19 does.
var plainName = regexp.MustCompile(`^[0-9A-Za-z_]+$`)

// bounds are floor and cutoff as values of the column, in UTC fields.
func (p Predicate) bounds() (floor, cutoff time.Time, read bool) {
	floor, err := readLiteral(p.Floor)
	if err != nil {
		return floor, cutoff, false
	}
	cutoff, err = readLiteral(p.Cutoff)
	return floor, cutoff, err == nil
}

func readLiteral(text string) (at time.Time, err error) {
	for _, layout := range []string{"'" + time.DateOnly + "'", "'" + time.DateTime + "'"} {
		if at, err = time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return at, err
}

// Stays counts all rows of a range, and those of them that may not go. A table without a key has but
// one range.
func (s *Statements) Stays(r Range) (string, error) {
	where, err := "", error(nil)
	if s.KeyIndex != "" {
		where, err = s.within(r)
		where = " WHERE " + where
	}
	return "SELECT COUNT(*), COALESCE(SUM(NOT (" + s.due() + ")), 0)" + s.byKey() + where, err
}

// Ends says of the first and of the last entry of the index on time whether their rows go: all others lie
// between them. There is no condition, or a server would look at the bounds of partitions instead.
func (s *Statements) Ends() string {
	first, last := s.ends()
	return "SELECT COALESCE(" + first + " AND " + last + ", FALSE)"
}

func (s *Statements) ends() (first, last string) {
	end := "(SELECT " + s.due() + s.byTime() + " ORDER BY " + s.Expired.Column
	return end + " LIMIT 1)", end + " DESC LIMIT 1)"
}

// StillEnds are the statements that ask the same once more under a lock, where a table is named only once in each,
// and the condition that no row has come that does not go; none without an index on time.
func (s *Statements) StillEnds() (statements []string, condition string) {
	if s.TimeIndex == "" {
		return nil, ""
	}
	first, last := s.ends()
	return []string{
		"SET @ttlproxy_first = COALESCE(" + first + ", TRUE)", "SET @ttlproxy_last = COALESCE(" + last + ", TRUE)",
	}, " AND @ttlproxy_first AND @ttlproxy_last"
}

// ChooseWhole is the plan of a partition that leaves its table whole.
func (w Whole) ChooseWhole() Choice {
	return Choice{GoWhole, "TTL_PARTITION = '" + w.How + "': everything below its bound has expired"}
}

// Leave is the statement by which a partition leaves its table, or becomes that table.
func (w Whole) Leave(t tables.Target, side catalog.Table, mariadb bool) string {
	alter, partition := "ALTER TABLE "+t.Name()+" ", " PARTITION "+ddl.Quote(t.Partition)
	switch {
	case w.How != ddl.PartitionExchange:
		return alter + w.How + partition
	case mariadb:
		return alter + "CONVERT" + partition + " TO TABLE " + side.String()
	default:
		return alter + "EXCHANGE" + partition + " WITH TABLE " + side.String()
	}
}

// goWhole says of each partition in which something may be due whether it goes whole, or why not, if
// the rule asks for it.
func (v *preview) goWhole(ctx context.Context) (all []string, err error) {
	p := catalog.Policy{ID: v.Policy, Table: v.Table, Rule: v.Rule, Terms: v.Terms}
	asked := p.Terms.Options.Partition != ""
	switch {
	case v.from == nil:
		v.refusal = "nobody knows what has become of its partitions"
		return nil, nil
	case len(v.facts.Partitions) == 0 && !asked && p.Terms.Options.Ahead == 0:
		return nil, nil
	case len(v.facts.Partitions) == 0:
		return []string{"none: the table has no partitions"}, nil
	}
	if why := v.facts.Unfit(); why != "" {
		if v.refusal = why; !asked && p.Terms.Options.Ahead == 0 {
			return nil, nil
		}
		return []string{"none goes, and none is made: " + why}, nil
	}

	ahead, err := aheadText(ctx, v.q, v.from, p, v.facts, v.Now)
	if err != nil {
		return nil, err
	}
	if ahead != "" {
		all = append(all, ahead)
	}
	if !asked {
		p.Terms.Options.Partition = ddl.PartitionDrop // what it would be like
	}

	w, err := ReadWhole(ctx, v.q, v.from, p, v.facts, v.staying, v.Now)
	if err != nil {
		return nil, err
	}
	fates := v.weighFates(w)
	if asked {
		all = append(all, fates...)
	}
	return all, nil
}

// weighFates says what becomes of each partition in which something may be due, and remembers which go
// whole, or why none can.
func (v *preview) weighFates(w Whole) (all []string) {
	c, _ := v.facts.Column(v.Rule.Column)
	if _, known := v.facts.Partitions[0].End(c); !known {
		v.refusal = "the bounds of its partitions tell nothing about the dates in them"
	}
	switch {
	case len(v.triggers) > 0:
		v.refusal = "a trigger would not fire" // not everybody may know its name
	case w.all != "":
		v.refusal = w.all
	}

	for _, part := range DuePartitions(v.facts, v.Rule.Column, v.cutoff) {
		text := part.Name + " goes whole (" + w.How + ")"
		if why := w.Why(v.facts, part.Name, v.now.Expired); why != "" {
			text = part.Name + " goes by rows: " + why
		} else {
			v.leaving = append(v.leaving, part)
		}
		all = append(all, text)
	}
	return all
}
