package work

import (
	"context"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// stillness is for how long it is known that nobody has written to a table or partition.
type stillness struct {
	since, last string // by the server's clock, in UTC: when it was looked at first, and last
	contents    string // the condition, as SQL, that no file was imported meanwhile; empty if an id tells
}

// restsFor is how many seconds may pass without a look. InnoDB remembers when a table was written to for as long as it
// has it open. Where more tables are used than a server keeps open, MariaDB closes those that were not used for
// longest, and then tells them no more from those to which nobody has written.
const restsFor = 10

// unwritten is the condition, as SQL, that nobody has written to a place, or imported another file into it, since it
// was looked at first, which InnoDB remembers to the second. If the server's clock has been set back since, it does
// not tell.
func (s stillness) unwritten(of tables.Target, rest int) string {
	from := "tables WHERE"
	if of.Partition != "" {
		from = "partitions WHERE partition_name = " + tables.Literal(of.Partition) + " AND"
	}
	return fmt.Sprintf("(COALESCE((SELECT MIN(update_time IS NULL OR update_time < '%[1]s') "+
		"FROM information_schema.%[2]s table_schema = %[3]s AND table_name = %[4]s) "+
		"AND '%[1]s' <= '%[5]s' AND TIMESTAMPDIFF(SECOND, '%[5]s', SYSDATE()) BETWEEN 0 AND %[6]d, FALSE)%[7]s)",
		s.since, from, tables.Literal(of.Schema), tables.Literal(of.Table), s.last, rest, s.contents)
}

// clock is the server's, which no session can set, in UTC.
func (s *Session) clock(ctx context.Context) (now string, err error) {
	return now, s.QueryRowContext(ctx, "SELECT CAST(SYSDATE() AS CHAR)").Scan(&now)
}
