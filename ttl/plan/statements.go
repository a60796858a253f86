package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Statements writes every statement on the user's table. The zero KeyIndex means that the table has
// no key to walk.
type Statements struct {
	Target    tables.Target
	KeyIndex  string
	Key       tables.Columns
	TimeIndex string
	Walk      tables.Columns // order of TimeIndex
	Expired   Predicate
	Staying   Staying        // although they have expired
	Date      tables.Columns // the TTL column alone

	forced   bool // see Forcing
	hinted   bool // and how
	lookedUp bool // see LookingUp
}

// Forcing is s with deletes by key and by range that name the index, too: on MySQL by a hint, on MariaDB in the
// form for several tables, by which MySQL would read each row once more. Given the choice, both servers read all of
// a small table for a long list of keys, and run into whoever has locked any row of it.
func (s *Statements) Forcing(mariadb bool) *Statements {
	forcing := *s
	forcing.forced = true
	forcing.hinted = !mariadb && !strings.Contains(s.Target.Table+s.KeyIndex, "*/")
	return &forcing
}

// LookingUp is s for a session in which neither server reads all children to see which rows stay.
func (s *Statements) LookingUp() *Statements {
	looking := *s
	looking.lookedUp = true
	return &looking
}

// NewStatements prepares the statements for a table, its policy's column and a cutoff.
func NewStatements(l *tables.Layout, partition, column string, cutoff Cutoff, floor string, stay Staying,
) (*Statements, error) {
	c, found := l.Column(column)
	if !found {
		return nil, fmt.Errorf("column %s is gone from %s.%s", column, l.Schema, l.Table)
	}
	if c.Kind != cutoff.Kind {
		return nil, fmt.Errorf("column %s of %s.%s changed its type", column, l.Schema, l.Table)
	}
	expired, err := NewPredicate(c.Name, cutoff, floor)
	if err != nil {
		return nil, err
	}
	return statements(l, partition, c.Name, expired, stay), nil
}

// StatementsOf prepares the statements of a job from the literals it was created with.
func StatementsOf(l *tables.Layout, partition, column, cutoff, floor string, stay Staying) *Statements {
	c, _ := l.Column(column)
	return statements(l, partition, column,
		Predicate{Column: ddl.Quote(column), Floor: floor, Cutoff: cutoff, Kind: c.Kind}, stay)
}

func statements(l *tables.Layout, partition, column string, expired Predicate, stay Staying) *Statements {
	s := &Statements{Target: l.Target(partition), Expired: expired, Staying: stay}
	if c, known := l.Column(column); known {
		s.Date = tables.Columns{c}
	}
	s.KeyIndex, s.Key, _ = l.PagingKey()
	s.TimeIndex, s.Walk, _ = l.TimeIndex(column)
	return s
}

// Range is a stretch of keys: after From (open when nil) up to and including To (open when nil).
type Range struct{ From, To tables.Key }

func (s *Statements) within(r Range) (string, error) { return s.Key.Between(r.From, r.To) }

// due is the condition of rows that go, in statements that name or bound them by key.
func (s *Statements) due() string { return and(s.Expired.Opaque(), s.Staying.goes()) }

// dueLocked is due in a statement that deletes.
func (s *Statements) dueLocked() string { return and(s.Expired.Opaque(), s.Staying.goesLocked()) }

// dueByTime is due in the form that the index on time can serve.
func (s *Statements) dueByTime() string { return and(s.Expired.Sargable(), s.Staying.goes()) }

func and(a, b string) string {
	if b == "" {
		return a
	}
	return a + " AND " + b
}

// BlockEnd reads the n-th key of a range: the end of a block of n rows, expired or not. No row
// means that fewer are left.
func (s *Statements) BlockEnd(r Range, n int) (string, error) {
	where, err := s.within(r)
	return "SELECT " + s.Key.Select() + s.byKey() + " WHERE " + where +
		" ORDER BY " + s.Key.Order() + " LIMIT 1 OFFSET " + strconv.Itoa(n-1), err
}

// BlockRows counts the rows of a range, expired or not.
func (s *Statements) BlockRows(r Range) (string, error) {
	where, err := s.within(r)
	return "SELECT COUNT(*)" + s.byKey() + " WHERE " + where, err
}

// BlockKeys reads the keys of the expired rows of a block, and of each what says whether it stays.
func (s *Statements) BlockKeys(r Range) (string, error) {
	where, err := s.within(r)
	return "SELECT " + s.Key.Select() + s.dateIfStays() + s.byKey() + " WHERE " + where + " AND " + s.Expired.Opaque() +
		" ORDER BY " + s.Key.Order(), err
}

// DueAmong reads those of the keys that lie in a range and whose rows are expired.
func (s *Statements) DueAmong(r Range, keys []tables.Key) (string, error) {
	where, err := s.within(r)
	if err != nil {
		return "", err
	}
	in, err := s.Key.In(keys)
	return "SELECT " + s.Key.Select() + s.byKey() + " WHERE " + in + " AND " + where + " AND " + s.due(), err
}

// UnlockedKeys locks and reads those keys of BlockKeys that nobody else has locked.
func (s *Statements) UnlockedKeys(keys []tables.Key) (string, error) {
	in, err := s.Key.In(keys)
	return "SELECT " + s.Key.Select() + s.byKey() + " WHERE " + in + " AND " + s.due() +
		" FOR UPDATE SKIP LOCKED", err
}

// LockRange locks the expired rows of a block, or fails at once if one of them is locked.
func (s *Statements) LockRange(r Range) (string, error) {
	where, err := s.within(r)
	return s.lock(where), err
}

// LockKeys is LockRange for rows named by key.
func (s *Statements) LockKeys(keys []tables.Key) (string, error) {
	in, err := s.Key.In(keys)
	return s.lock(in), err
}

// lock counts into a variable, so that nothing has to travel.
func (s *Statements) lock(where string) string {
	return "SELECT COUNT(*) INTO @ttlproxy_locked" + s.byKey() + " WHERE " + where + " AND " + s.due() +
		" FOR UPDATE NOWAIT"
}

// LockSome is LockRange for the rows that DeleteSome comes to first.
func (s *Statements) LockSome(n int) string {
	return "SELECT COUNT(*) INTO @ttlproxy_locked FROM (SELECT 1 FROM " + s.Target.Source() + " WHERE " +
		s.dueByTime() + " LIMIT " + strconv.Itoa(n) + " FOR UPDATE NOWAIT) first"
}

// DeleteRange deletes the expired rows of a block where guard holds.
func (s *Statements) DeleteRange(r Range, guard string) (string, error) {
	where, err := s.within(r)
	return s.delete(where+" AND "+s.dueLocked(), guard), err
}

// DeleteKeys deletes those of the rows named by key that are still expired, where guard holds.
func (s *Statements) DeleteKeys(keys []tables.Key, guard string) (string, error) {
	in, err := s.Key.In(keys)
	return s.delete(in+" AND "+s.dueLocked(), guard), err
}

// DeleteSome deletes up to n expired rows of a table that has no key to walk.
func (s *Statements) DeleteSome(n int, guard string) string {
	return s.delete(s.Expired.Sargable()+" AND "+s.dueLocked(), guard) + " LIMIT " + strconv.Itoa(n)
}

// oldest reads the n oldest entries of the index on time, of one date in any order, and of each what says
// whether its row stays.
func (s *Statements) oldest(n int) string {
	return "SELECT " + s.Walk.Select() + s.dateIfStays() + s.byTime() + " WHERE " + s.Expired.Sargable() +
		" ORDER BY " + s.byDate().Order() + " LIMIT " + strconv.Itoa(n)
}

// WalkPage reads the next n entries of the index on time, from the old end of a stretch of it, and of
// each what says whether its row stays.
func (s *Statements) WalkPage(r Range, n int) (string, error) { return s.walkPage(r, n, nil) }

// walkPage is WalkPage as far as a date, if there is one.
func (s *Statements) walkPage(r Range, n int, date tables.Key) (string, error) {
	within, err := s.Walk.Between(r.From, r.To)
	if err == nil && date != nil {
		var until string
		until, err = s.byDate().UpTo(date)
		within = until + " AND " + within
	}
	return "SELECT " + s.Walk.Select() + s.dateIfStays() + s.byTime() + " WHERE " + s.Expired.Sargable() +
		" AND " + within + " ORDER BY " + s.Walk.Order() + " LIMIT " + strconv.Itoa(n), err
}

// pageEnd reads the date of the last entry of WalkPage; none if there are fewer.
func (s *Statements) pageEnd(r Range, n int) (string, error) {
	within, err := s.Walk.Between(r.From, r.To)
	return "SELECT " + s.byDate().Select() + s.byTime() + " WHERE " + s.Expired.Sargable() + " AND " + within +
		" ORDER BY " + s.byDate().Order() + " LIMIT 1 OFFSET " + strconv.Itoa(n-1), err
}

// inSteps says that pages of the index on time are read in two steps, first only the date at which a page
// ends: all that MariaDB sorts of a partition then is that page. Whole days can have too many rows for
// that.
func (s *Statements) inSteps() bool { return s.Target.Partition != "" && s.Expired.Kind != tables.Date }

// KeyOf picks the paging key out of an entry of the index on time.
func (s *Statements) KeyOf(entry tables.Key) tables.Key {
	key := make(tables.Key, len(s.Key))
	for i, k := range s.Key {
		for j, w := range s.Walk {
			if w.Name == k.Name {
				key[i] = entry[j]
			}
		}
	}
	return key
}

func (s *Statements) delete(where, guard string) string {
	if guard != "" {
		where += " AND " + guard
	}
	switch {
	case s.hinted:
		return "DELETE /*+ INDEX(" + ddl.Quote(s.Target.Table) + " " + ddl.Quote(s.KeyIndex) + ") */ FROM " +
			s.Target.Source() + " WHERE " + where
	case s.forced:
		return "DELETE " + s.Target.Name() + s.byKey() + " WHERE " + where
	default:
		return "DELETE FROM " + s.Target.Source() + " WHERE " + where
	}
}

// byDate is the order of the index on time as far as its column goes. Where any row of a date will do,
// that spares MariaDB a sort of all rows: it does not know in which order a partition's index has the
// rest.
func (s *Statements) byDate() tables.Columns { return s.Walk[:1] }

// Touch locks the table, and the row at the new end of its key, for sharing: few rows have been deleted there.
func (s *Statements) Touch() string {
	order := ""
	if s.KeyIndex != "" {
		order = " ORDER BY " + s.Key.ReverseOrder()
	}
	return "SELECT 1" + s.byKey() + order + " LIMIT 1 FOR SHARE NOWAIT"
}

func (s *Statements) byKey() string  { return s.from(s.KeyIndex) }
func (s *Statements) byTime() string { return s.from(s.TimeIndex) }

func (s *Statements) from(index string) string {
	if index == "" {
		return " FROM " + s.Target.Source()
	}
	return " FROM " + s.Target.Source() + " FORCE INDEX (" + ddl.Quote(index) + ")"
}

// preferring is from for estimates: MySQL does not look into an index that it is forced to use.
func (s *Statements) preferring(index string) string {
	return " FROM " + s.Target.Source() + " USE INDEX (" + ddl.Quote(index) + ")"
}
