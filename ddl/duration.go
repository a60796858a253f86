package ddl

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ErrDuration is wrapped by every error about a duration.
var ErrDuration = errors.New("not a valid duration")

// durationUnits are TiDB's, and seconds.
var durationUnits = map[byte]time.Duration{
	's': time.Second,
	'm': time.Minute,
	'h': time.Hour,
	'd': 24 * time.Hour,
}

// Duration reads the value of TTL_JOB_INTERVAL: numbers with the units d, h, m and s, which add up
// in any order (1d12h, 30m1h, 1.5d). An empty text and a plain 0 mean zero, as in TiDB.
func Duration(text string) (time.Duration, error) {
	if text == "" || text == "0" {
		return 0, nil
	}

	var total float64
	for rest := text; rest != ""; {
		n := 0
		for n < len(rest) && (rest[n] == '.' || rest[n] >= '0' && rest[n] <= '9') {
			n++
		}

		number, err := strconv.ParseFloat(rest[:n], 64)
		if err != nil {
			return 0, fmt.Errorf("%w: no number at %q", ErrDuration, rest)
		}
		if n == len(rest) {
			return 0, fmt.Errorf("%w: no unit after %s; the units are d, h, m and s", ErrDuration, rest)
		}

		unit, known := durationUnits[rest[n]]
		if !known {
			return 0, fmt.Errorf("%w: unknown unit at %q; the units are d, h, m and s", ErrDuration, rest[n:])
		}

		total += number * float64(unit)
		rest = rest[n+1:]
	}

	if total > math.MaxInt64/2 {
		return 0, fmt.Errorf("%w: longer than 146 years", ErrDuration)
	}

	return time.Duration(math.Round(total)), nil
}

// FormatDuration writes a length of time, to the second, in the units that Duration reads, without those that
// are zero: 1h, not 1h0m0s.
func FormatDuration(d time.Duration) string {
	s := d.Round(time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
