package plan

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// Oldest reads the oldest plausible date of several tables with one statement: the first entry of
// each index on time, whether it is due or not. What has no date is left out. Nothing is deleted by
// what it says: a job looks for itself.
func Oldest(ctx context.Context, q tables.Querier, all map[uint64]*Statements) (map[uint64]string, error) {
	parts := make([]string, 0, len(all))
	for number, s := range all {
		lead := s.byDate()
		parts = append(parts, fmt.Sprintf("(SELECT %d, %s%s WHERE %s >= %s ORDER BY %s LIMIT 1)",
			number, lead.Select(), s.byTime(), s.Expired.Column, s.Expired.Floor, lead.Order()))
	}

	oldest := map[uint64]string{}
	err := tables.EachRow(ctx, q, strings.Join(parts, " UNION ALL "), nil, func(rows *sql.Rows) error {
		var number uint64
		var date string
		err := rows.Scan(&number, &date)
		oldest[number] = date
		return err
	})
	return oldest, err
}
