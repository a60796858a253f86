package report

import "strconv"

// grouped writes a number with a comma between thousands, for sentences.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}
