package plan

import (
	"context"
	"strconv"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// dateIfStays is what is read of a row besides its position, where some stay: its date if it does.
func (s *Statements) dateIfStays() string {
	if s.Staying.None() {
		return ""
	}
	if s.lookedUp {
		return ", IF(" + s.Staying.stays() + ", " + s.Date.Select() + ", NULL)"
	}
	return ", IF(" + s.Staying.goes() + ", NULL, " + s.Date.Select() + ")"
}

// Found is an expired row as BlockKeys and WalkPage read it.
type Found struct {
	At    tables.Key // its key, or its entry in the index on time
	Stays bool       // see [Staying]
	Date  string     // of a row that stays
}

// Find runs BlockKeys, or WalkPage, whose positions have so many columns.
func (s *Statements) Find(ctx context.Context, q tables.Querier, query string, columns int) ([]Found, error) {
	read := columns
	if !s.Staying.None() {
		read++ // see dateIfStays
	}
	rows, err := QueryKeys(ctx, q, query, read)
	if err != nil {
		return nil, err
	}

	all := make([]Found, len(rows))
	for i, row := range rows {
		all[i].At = row[:columns:columns]
		if read > columns && row[columns] != "" {
			all[i].Stays, all[i].Date = true, string(row[columns])
		}
	}
	return all, nil
}

// Page is what WalkPage finds in a stretch.
func (s *Statements) Page(ctx context.Context, q tables.Querier, r Range, n int) ([]Found, error) {
	if !s.inSteps() {
		return s.findPage(ctx, q, r, n, nil)
	}

	end, err := s.pageEnd(r, n)
	if err != nil {
		return nil, err
	}
	date, err := QueryKey(ctx, q, end, 1)
	if err != nil {
		return nil, err
	}

	page, err := s.findPage(ctx, q, r, n, date)
	if err == nil && date != nil && len(page) < n { // somebody has deleted some since: that is not the end
		page, err = s.findPage(ctx, q, r, n, nil)
	}
	return page, err
}

func (s *Statements) findPage(
	ctx context.Context, q tables.Querier, r Range, n int, date tables.Key,
) ([]Found, error) {
	page, err := s.walkPage(r, n, date)
	if err != nil {
		return nil, err
	}
	return s.Find(ctx, q, page, len(s.Walk))
}

// DateOf reads the date of a row, if it has expired.
func (s *Statements) DateOf(key tables.Key) (string, error) {
	in, err := s.Key.In([]tables.Key{key})
	return "SELECT " + s.Date.Select() + s.byKey() + " WHERE " + in + " AND " + s.Expired.Opaque(), err
}

// keptCounted is how many rows that stay are counted in a table that has no key to walk.
const keptCounted = 100_000

// Kept counts the rows that stay, and reads the oldest date among them.
func (s *Statements) Kept() string {
	return "SELECT COUNT(*), COALESCE(MIN(date), '') FROM (SELECT " + s.Date.Select() + " AS date" + s.from("") +
		" WHERE " + s.Expired.Sargable() + " AND NOT (" + s.Staying.goes() + ") LIMIT " + strconv.Itoa(keptCounted) +
		") AS staying"
}
