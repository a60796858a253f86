package ddl

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ErrRates is wrapped by every error about speeds by the clock.
var ErrRates = errors.New("no valid speed")

// Rates are how many rows a second may be deleted, by the clock and the day of the week. The zero
// value is no limit.
type Rates struct {
	otherwise int64 // where none of the others is; 0 for no limit
	parts     []rate
	zone      *time.Location // nil where none is said
	zoneName  string
}

// rate is the speed of a part of the week; 0 for no limit.
type rate struct {
	span
	perSecond int64
}

// unlimited is the word for no limit, which is kept as noLimit.
const (
	unlimited = "unlimited"
	noLimit   = math.MaxInt64
)

// ParseRates reads the value of TTL_DELETE_RATE and ttl_rate_schedule: '1000', or '1000; mon-fri
// 22:00-06:00 20000; sat-sun 20000; zone Europe/Berlin'. Where several parts meet, the slowest
// decides; the one without days and hours is for all other times.
func ParseRates(text string) (Rates, error) {
	var r Rates
	for _, words := range items(text) {
		if err := r.read(words); err != nil {
			return Rates{}, fmt.Errorf("%w: '%s': %w", ErrRates, text, err)
		}
	}
	if r.otherwise == 0 && !r.Clocked() {
		return Rates{}, fmt.Errorf("%w: '%s': there is no speed", ErrRates, text)
	}
	return r, nil
}

// read reads one item.
func (r *Rates) read(words []string) (err error) {
	if len(words) == 2 && strings.EqualFold(words[0], "zone") {
		if r.zone != nil {
			return errors.New("there is more than one zone")
		}
		r.zoneName = words[1]
		r.zone, err = Zone(r.zoneName)
		return err
	}

	s, rest, err := readSpan(words)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return errors.New("an item is not of the form '1000', 'mon-fri 22:00-06:00 1000' or 'zone Europe/Berlin'")
	}

	perSecond, err := readSpeed(rest[0])
	switch {
	case err != nil:
		return err
	case len(words) > 1:
		r.parts = append(r.parts, rate{s, perSecond})
	case r.otherwise != 0:
		return errors.New("there is more than one speed for all other times")
	default:
		r.otherwise = perSecond
	}
	return nil
}

// readSpeed reads rows a second, one at least.
func readSpeed(text string) (int64, error) {
	if strings.EqualFold(text, unlimited) {
		return noLimit, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("'%s' is not a number of rows per second, 1 or more, nor '%s'", text, unlimited)
	}
	return n, nil
}

// At is how many rows a second may be deleted at a moment; 0 for no limit. The zone counts if the
// rates name none.
func (r Rates) At(t time.Time, zone *time.Location) int64 {
	if r.zone != nil {
		zone = r.zone
	}
	t = t.In(zone)

	slowest := int64(0)
	for _, part := range r.parts {
		if part.contains(t) && (slowest == 0 || part.perSecond < slowest) {
			slowest = part.perSecond
		}
	}

	if slowest == 0 {
		slowest = r.otherwise
	}
	if slowest == noLimit {
		return 0
	}
	return slowest
}

// Changes is the first moment after t at which another speed counts; zero if none ever does.
func (r Rates) Changes(t time.Time, zone *time.Location) time.Time {
	if r.zone != nil {
		zone = r.zone
	}
	spans := make([]span, len(r.parts))
	for i, part := range r.parts {
		spans[i] = part.span
	}

	now := r.At(t, zone)
	return seek(t.In(zone), spans, func(t time.Time) bool { return r.At(t, zone) != now })
}

// Clocked reports whether the speed depends on the clock.
func (r Rates) Clocked() bool { return len(r.parts) > 0 }

// String is the rates as they are read.
func (r Rates) String() string {
	var all []string
	if r.otherwise != 0 {
		all = append(all, speedText(r.otherwise))
	}
	for _, part := range r.parts {
		all = append(all, part.String()+" "+speedText(part.perSecond))
	}
	if r.zone != nil {
		all = append(all, "zone "+r.zoneName)
	}
	return strings.Join(all, "; ")
}

func speedText(perSecond int64) string {
	if perSecond == noLimit {
		return unlimited
	}
	return strconv.FormatInt(perSecond, 10)
}
