package plan

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// sampleRows is how many neighbouring rows one sample reads.
const sampleRows = 200

// sample is what a few neighbouring rows say about their part of the table.
type sample struct {
	rows, expired, null, implausible int64
	oldest                           string // of the plausible values, as the server prints them
	oldestDue, newestDue             string // of those that are due; empty when none is
}

// sampleRange reads up to limit rows of a range from its beginning.
func (s *Statements) sampleRange(ctx context.Context, q tables.Querier, r Range, limit int) (sample, error) {
	from, err := s.sampled(r, limit)
	if err != nil {
		return sample{}, err
	}

	p, due := s.Expired, s.sampledDue()
	query := "SELECT COUNT(*), COALESCE(SUM(" + due + "), 0), COALESCE(SUM(" + p.Column + " IS NULL), 0), " +
		"COALESCE(SUM(" + p.Implausible() + "), 0), COALESCE(MIN(CASE WHEN " + p.Column + " >= " + p.Floor + " THEN " +
		p.Column + " END), ''), " +
		"COALESCE(MIN(CASE WHEN " + due + " THEN " + p.Column + " END), ''), COALESCE(MAX(CASE WHEN " +
		due + " THEN " + p.Column + " END), '')" + from
	var m sample

	err = q.QueryRowContext(ctx, query).
		Scan(&m.rows, &m.expired, &m.null, &m.implausible, &m.oldest, &m.oldestDue, &m.newestDue)
	if err != nil {
		return m, fmt.Errorf("sample rows: %w", err)
	}

	return m, nil
}

// sampled is the FROM clause of a question about the TTL column in up to limit rows of a range,
// from its beginning.
func (s *Statements) sampled(r Range, limit int) (string, error) {
	inner := "SELECT " + s.Expired.Column
	if !s.Staying.None() {
		inner += ", " + s.Staying.goes() + " AS " + sampledGoes
	}
	inner += s.byKey()

	if s.KeyIndex != "" {
		where, err := s.within(r)
		if err != nil {
			return "", err
		}
		inner += " WHERE " + where + " ORDER BY " + s.Key.Order()
	}
	return " FROM (" + inner + " LIMIT " + strconv.Itoa(limit) + ") AS sampled", nil
}

// sampledGoes is the column of sampled that says whether a row goes when it has expired.
const sampledGoes = "ttlproxy_goes"

// sampledDue is due for what sampled reads.
func (s *Statements) sampledDue() string {
	if s.Staying.None() {
		return s.Expired.Opaque()
	}
	return "(" + s.Expired.Opaque() + " AND " + sampledGoes + ")"
}

// edge reads the first or last key of the table; nil when it is empty.
func (s *Statements) edge(ctx context.Context, q tables.Querier, last bool) (tables.Key, error) {
	order := s.Key.Order()
	if last {
		order = s.Key.ReverseOrder()
	}
	return QueryKey(ctx, q, "SELECT "+s.Key.Select()+s.byKey()+" ORDER BY "+order+" LIMIT 1", len(s.Key))
}

// QueryKey runs a statement that reads one key; nil when there is no row.
func QueryKey(ctx context.Context, q tables.Querier, query string, columns int) (tables.Key, error) {
	keys, err := QueryKeys(ctx, q, query, columns)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	return keys[0], nil
}

// QueryKeys runs a statement that reads keys of so many columns.
func QueryKeys(ctx context.Context, q tables.Querier, query string, columns int) ([]tables.Key, error) {
	var keys []tables.Key
	values := make([]sql.RawBytes, columns)
	into := make([]any, columns)
	for i := range values {
		into[i] = &values[i]
	}

	err := tables.EachRow(ctx, q, query, nil, func(rows *sql.Rows) error {
		if err := rows.Scan(into...); err != nil {
			return err
		}

		key := make(tables.Key, columns)
		for i, v := range values {
			key[i] = tables.Value(v)
		}

		keys = append(keys, key)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}

	return keys, nil
}
