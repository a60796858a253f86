package report

import "fmt"

// Agreed says how much somebody has agreed to; nil is what the next run finds.
func Agreed(rows *uint64) string {
	if rows == nil {
		return "the next run may delete the rows that it finds due when it starts"
	}
	return fmt.Sprintf("this run may delete up to %d rows; beyond that it asks again", *rows)
}
