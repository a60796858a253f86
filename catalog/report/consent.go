package report

import "fmt"

// Agreed says how much somebody has agreed to; nil is what the next run finds.
func Agreed(rows *uint64) string {
	if rows == nil {
		return "the next run may delete the rows that it finds due when it starts"
	}
	return fmt.Sprintf("the run that is open, or else the next one, may delete up to %d rows from now on; beyond that "+
		"it asks again", *rows)
}
