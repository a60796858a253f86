package ddl

import (
	"cmp"
	"regexp"
	"time"
)

// An instant is a date, a date and a time of day, or a time of day alone. What follows a time of day
// says its zone. Nothing else is read, because the servers read more, and not the same: MariaDB takes
// ” for no time, and '10:00 PM' for the morning.
var instant = regexp.MustCompile(
	`^(?:(\d{4}-\d\d-\d\d)|` +
		`(?:(\d{4}-\d\d-\d\d)[ T])?(\d?\d:\d\d)(:\d\d(?:\.\d{1,6})?)?(?: ?(Z|[+-]\d\d:\d\d))?)$`)

// Instant is a point of time as a person writes it.
type Instant struct {
	text  string
	dated bool           // it has a date; if not, it means its next occurrence
	clock time.Time      // what a clock shows then, as if that were UTC
	zone  *time.Location // of that clock; nil for that of whoever wrote it
}

// ReadInstant reads '2026-03-01', '2026-03-01 18:00', '2026-03-01T18:00:00.5Z', '18:00' and the like.
func ReadInstant(text string) (i Instant, ok bool) {
	m := instant.FindStringSubmatch(text)
	if m == nil {
		return Instant{}, false
	}
	date, minute, second, zone := m[1]+m[2], m[3], m[4], m[5]

	i = Instant{text: text, dated: date != ""}
	clock, err := time.Parse("2006-01-02 15:04:05",
		cmp.Or(date, "0001-01-01")+" "+cmp.Or(minute, "00:00")+cmp.Or(second, ":00"))
	if err != nil || clock.Year() == 0 {
		return Instant{}, false
	}
	i.clock = clock

	switch zone {
	case "":
	case "Z":
		i.zone = time.UTC
	default:
		if i.zone, err = Zone(zone); err != nil {
			return Instant{}, false
		}
	}
	return i, true
}

// String is the instant as it was written.
func (i Instant) String() string { return i.text }

// Floats reports whether the instant depends on the zone of whoever wrote it.
func (i Instant) Floats() bool { return i.zone == nil }

// At is the moment that is meant by somebody in a zone, now. Where the clocks of the zone show a time
// twice or never it is the later one: what is to rest until then must not begin before it.
func (i Instant) At(now time.Time, zone *time.Location) time.Time {
	if i.zone != nil {
		zone = i.zone
	}
	if i.dated {
		return lastShowing(i.clock, zone)
	}

	year, month, day := now.In(zone).Date()
	for {
		clock := time.Date(year, month, day, i.clock.Hour(), i.clock.Minute(), i.clock.Second(),
			i.clock.Nanosecond(), time.UTC)
		if at := lastShowing(clock, zone); at.After(now) {
			return at
		}
		day++
	}
}

// lastShowing is the last moment at which the clocks of a zone show a time.
func lastShowing(clock time.Time, zone *time.Location) time.Time {
	const between = 24 * time.Hour // no zone changes its clocks twice within that
	_, before := clock.Add(-between).In(zone).Zone()
	_, after := clock.Add(between).In(zone).Zone()

	at := func(offset int) time.Time { return clock.Add(-time.Duration(offset) * time.Second) }
	late, early := at(min(before, after)), at(max(before, after))
	if !shows(late, clock, zone) && shows(early, clock, zone) {
		return early
	}
	return late
}

// shows reports whether the clocks of a zone show a time at a moment.
func shows(at, clock time.Time, zone *time.Location) bool {
	_, offset := at.In(zone).Zone()
	return at.Add(time.Duration(offset) * time.Second).Equal(clock)
}
