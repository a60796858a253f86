package plan

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// access is how a server says it will reach the rows of the user's table.
type access struct {
	Type, Key, Extra string
	Rows             int64
}

// explain asks for the plan of a statement and returns its first table's line. An impossible WHERE
// has no rows.
func explain(ctx context.Context, q tables.Querier, statement string) (access, error) {
	lines, err := explainAll(ctx, q, statement)
	if err != nil || len(lines) == 0 {
		return access{}, err
	}
	return lines[0], nil
}

// explainAll returns all lines of a statement's plan.
func explainAll(ctx context.Context, q tables.Querier, statement string) ([]access, error) {
	var lines []access
	err := tables.EachRow(ctx, q, "EXPLAIN FORMAT=TRADITIONAL "+statement, nil, func(rows *sql.Rows) error {
		line, err := tables.NamedStrings(rows)
		if err != nil {
			return err
		}
		n, _ := strconv.ParseInt(line["rows"], 10, 64)
		lines = append(lines, access{line["type"], line["key"], line["extra"], n})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}

	return lines, nil
}

// Verify asks the server once per job how it would run the statements of the plan, and objects when
// it would not use the intended index or would sort.
func (s *Statements) Verify(ctx context.Context, q tables.Querier, way Way, sample tables.Key) error {
	switch way {
	case WalkIndex:
		page, err := s.WalkPage(Range{}, 2)
		if s.inSteps() {
			page, err = s.pageEnd(Range{}, 2)
		}
		if err != nil {
			return err
		}
		return verify(ctx, q, page, s.TimeIndex)
	case WalkRange, Census:
		// From the sampled key on, as every block but the first: without a bound a server may name
		// no range.
		end, err := s.BlockEnd(Range{From: sample}, 2)
		if err != nil {
			return err
		}
		return verify(ctx, q, end, s.KeyIndex)
	default:
		return nil
	}
}

func verify(ctx context.Context, q tables.Querier, statement, index string) error {
	a, err := explain(ctx, q, statement)
	if err != nil {
		return err
	}
	if a.Key != "" && a.Key != index {
		return fmt.Errorf("the server would use index %s instead of %s", a.Key, index)
	}
	if strings.Contains(a.Extra, "filesort") {
		return fmt.Errorf("the server would sort instead of reading index %s in order", index)
	}
	return nil
}

// weigh asks for the optimizer's estimate of the rows in ranges of keys, all with one question: two
// dives into the index for each, whatever its size.
func (s *Statements) weigh(ctx context.Context, q tables.Querier, ranges ...Range) ([]segment, error) {
	parts := make([]string, len(ranges))
	for i, r := range ranges {
		where, err := s.within(r)
		if err != nil {
			return nil, err
		}
		parts[i] = "SELECT 1" + s.preferring(s.KeyIndex) + " WHERE " + where
	}

	lines, err := explainAll(ctx, q, strings.Join(parts, " UNION ALL "))
	if err != nil {
		return nil, err
	}
	if len(lines) < len(ranges) {
		return nil, fmt.Errorf("explain: %d lines for %d ranges", len(lines), len(ranges))
	}

	segments := make([]segment, len(ranges))
	for i, r := range ranges {
		segments[i] = segment{Range: r, rows: lines[i].Rows}
	}

	return segments, nil
}
