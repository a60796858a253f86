package ddl

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// ErrCron is wrapped by every error about a schedule.
var ErrCron = errors.New("not a valid schedule")

// Cron is a schedule of five fields: minute, hour, day of the month, month, day of the week. Each
// is *, a number, a range a-b, a step */n or a-b/n, or a list of these. Months and days of the week
// have names, too: jan, sun. Sunday is 0 or 7. As everywhere, when both days are restricted, either of
// them is enough.
type Cron struct {
	minute, hour, day, month, weekday uint64 // bit n: the value n matches
	anyDay, anyWeekday                bool
}

// cronField is one of the five: its name, its range, and the words for numbers of it, from the first on.
type cronField struct {
	name        string
	first, last int
	words       []string
}

var cronFields = []cronField{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{"day of the week", 0, 7, append(dayNames[:], dayNames[0])},
}

// ParseCron reads the value of TTL_CRON.
func ParseCron(text string) (Cron, error) {
	fields := strings.Fields(text)
	if len(fields) != len(cronFields) {
		return Cron{}, fmt.Errorf("%w: '%s' has %d fields, not 5: minute hour day month weekday",
			ErrCron, text, len(fields))
	}

	var sets [5]uint64
	for i, f := range cronFields {
		set, err := f.read(fields[i])
		if err != nil {
			return Cron{}, fmt.Errorf("%w: %s '%s' %w", ErrCron, f.name, fields[i], err)
		}
		sets[i] = set
	}

	sets[4] |= sets[4] >> 7 // 7 is Sunday too
	c := Cron{
		sets[0], sets[1], sets[2], sets[3], sets[4] & 127, strings.HasPrefix(fields[2], "*"),
		strings.HasPrefix(fields[4], "*"),
	}
	if c.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Cron{}, fmt.Errorf("%w: '%s' names a day that does not exist", ErrCron, text)
	}

	return c, nil
}

func (f cronField) read(text string) (set uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		from, to, step := f.first, f.last, 1
		if span != "*" {
			a, b, ranged := strings.Cut(span, "-")
			if from, err = f.number(a, f.first); err != nil {
				return 0, err
			}

			if to = from; ranged {
				if to, err = f.number(b, from); err != nil {
					return 0, err
				}
			} else if stepped {
				to = f.last
			}
		}

		if stepped {
			if step, err = cronNumber(stepText, 1, f.last); err != nil {
				return 0, err
			}
		}

		for n := from; n <= to; n += step {
			set |= 1 << n
		}
	}
	return set, nil
}

// number reads a number or its word, least or more: sat-sun ends with the Sunday that is 7.
func (f cronField) number(text string, least int) (int, error) {
	for i, word := range f.words {
		if n := f.first + i; n >= least && strings.EqualFold(text, word) {
			return n, nil
		}
	}
	return cronNumber(text, least, f.last)
}

func cronNumber(text string, first, last int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < first || n > last || !isDigits(text) {
		return 0, fmt.Errorf("has '%s' where a number from %d to %d should be", text, first, last)
	}
	return n, nil
}

// Next is the first matching minute after t, by the clock of t's location; zero when there is none
// within five years. A minute that the clocks skip is made up for right after the change; one that
// occurs twice counts once.
func (c Cron) Next(t time.Time) time.Time {
	zone := t.Location()
	y, mo, d := t.Date()
	for day := range 5 * 366 {
		date := time.Date(y, mo, d+day, 0, 0, 0, 0, time.UTC)
		if !c.matchesDay(date) {
			continue
		}

		for hour := range 24 {
			if c.hour>>hour&1 == 0 {
				continue
			}
			for minutes := c.minute; minutes != 0; minutes &= minutes - 1 {
				if at := moment(date, hour, bits.TrailingZeros64(minutes), zone); at.After(t) {
					return at
				}
			}
		}
	}

	return time.Time{}
}

// cronYears covers every distance between the days of a schedule except that around 2100, which is
// not a leap year.
const cronYears = 9

// LongestGap is the longest time between two moments of the schedule, clock changes aside.
func (c Cron) LongestGap() time.Duration {
	var minutes []int // of a day
	for minute := range minutesOfDay {
		if c.hour>>(minute/60)&1 == 1 && c.minute>>(minute%60)&1 == 1 {
			minutes = append(minutes, minute)
		}
	}

	first, last, longest := minutes[0], minutes[len(minutes)-1], 0
	for i := 1; i < len(minutes); i++ {
		longest = max(longest, minutes[i]-minutes[i-1])
	}

	var before time.Time // the last day of the schedule
	for day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2024+cronYears; day = day.AddDate(0, 0, 1) {
		if !c.matchesDay(day) {
			continue
		}
		if !before.IsZero() {
			longest = max(longest, int(day.Sub(before).Minutes())-last+first)
		}
		before = day
	}

	return time.Duration(longest) * time.Minute
}

// moment is when the clocks of a zone first show a time on that day; for a time that they skip,
// right after the change.
func moment(day time.Time, hour, minute int, zone *time.Location) time.Time {
	at := time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, zone)
	start, end := at.ZoneBounds()
	switch {
	case at.Hour() == hour && at.Minute() == minute:
		return first(at, start)
	case at.Hour()*60+at.Minute() < hour*60+minute:
		return end.In(zone)
	default:
		return start.In(zone)
	}
}

// first is the first time that the clocks show what they show at a moment after their change at
// start.
func first(at, start time.Time) time.Time {
	if start.IsZero() {
		return at
	}
	_, now := at.Zone()
	_, before := start.Add(-1).In(at.Location()).Zone()
	if earlier := at.Add(time.Duration(now-before) * time.Second); now < before && earlier.Before(start) {
		return earlier
	}
	return at
}

func (c Cron) matchesDay(t time.Time) bool {
	day, weekday := c.day>>t.Day()&1 == 1, c.weekday>>int(t.Weekday())&1 == 1
	switch {
	case c.month>>int(t.Month())&1 == 0:
		return false
	case c.anyDay || c.anyWeekday:
		return day && weekday
	default:
		return day || weekday
	}
}
