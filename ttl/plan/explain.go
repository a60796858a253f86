package plan

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// access is how a server says it will reach the rows of the user's table.
type access struct {
	Type, Key, Extra string
	Rows             int64
}

// explain asks for the plan of a statement and returns its first table's line. An impossible WHERE has no rows.
func explain(ctx context.Context, q Querier, statement string) (access, error) {
	var lines []access
	err := eachRow(ctx, q, "EXPLAIN FORMAT=TRADITIONAL "+statement, nil, func(rows *sql.Rows) error {
		line, err := namedStrings(rows)
		if err != nil {
			return err
		}
		n, _ := strconv.ParseInt(line["rows"], 10, 64)
		lines = append(lines, access{line["type"], line["key"], line["extra"], n})
		return nil
	})
	if err != nil {
		return access{}, fmt.Errorf("explain: %w", err)
	}
	if len(lines) == 0 {
		return access{}, nil
	}
	return lines[0], nil
}

// Verify asks the server once per job how it would run the statements of the plan, and objects when it would not use
// the intended index or would sort.
func (s *Statements) Verify(ctx context.Context, q Querier, way Way, sample Key) error {
	switch way {
	case WalkIndex:
		page, err := s.WalkPage(nil, 2)
		if err != nil {
			return err
		}
		return verify(ctx, q, page, s.TimeIndex)
	case WalkRange:
		// From the sampled key on, as every block but the first: without a bound a server may name no range.
		end, err := s.BlockEnd(Range{From: sample}, 2)
		if err != nil {
			return err
		}
		return verify(ctx, q, end, s.KeyIndex)
	default:
		return nil
	}
}

func verify(ctx context.Context, q Querier, statement, index string) error {
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

// rangeRows is the optimizer's estimate of the rows in a range of keys: two dives into the index, whatever its size.
func (s *Statements) rangeRows(ctx context.Context, q Querier, r Range) (int64, error) {
	where, err := s.within(r)
	if err != nil {
		return 0, err
	}
	a, err := explain(ctx, q, "SELECT 1"+s.preferring(s.KeyIndex)+" WHERE "+where)
	return a.Rows, err
}
