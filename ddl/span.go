package ddl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// span is a part of the day on some days of the week, inclusive at both ends to the minute. One
// whose end is before its start crosses midnight, and is of the day on which it starts.
type span struct {
	days       days
	start, end int // minutes of the day
}

const (
	minutesOfDay  = 24 * 60
	minutesOfWeek = 7 * minutesOfDay
)

func minuteOf(t time.Time) int { return t.Hour()*60 + t.Minute() }

// contains reports whether the clock of t's location shows a time in the span.
func (s span) contains(t time.Time) bool { return s.holds(t.Weekday(), minuteOf(t)) }

func (s span) holds(day time.Weekday, minute int) bool {
	if s.start <= s.end {
		return s.days.has(day) && s.start <= minute && minute <= s.end
	}
	return s.days.has(day) && minute >= s.start || s.days.has((day+6)%7) && minute <= s.end
}

// whole reports whether the span is all of its days.
func (s span) whole() bool { return s.start == 0 && s.end == minutesOfDay-1 }

// String is the span as it is read: the days unless they are all, the hours unless they are.
func (s span) String() string {
	hours := fmt.Sprintf("%02d:%02d-%02d:%02d", s.start/60, s.start%60, s.end/60, s.end%60)
	switch {
	case s.days == everyDay:
		return hours
	case s.whole():
		return s.days.String()
	default:
		return s.days.String() + " " + hours
	}
}

// readSpan reads the days and hours at the beginning of an item, either of which may be missing, and
// returns what comes after them.
func readSpan(words []string) (s span, rest []string, err error) {
	s = span{days: everyDay, end: minutesOfDay - 1}
	if len(words) > 0 {
		if on, found := readDays(words[0]); found {
			s.days, words = on, words[1:]
		}
	}
	if len(words) > 0 && strings.Contains(words[0], ":") {
		if s.start, s.end, err = readHours(words[0]); err != nil {
			return s, words, err
		}
		words = words[1:]
	}
	return s, words, nil
}

func readHours(text string) (start, end int, err error) {
	from, to, found := strings.Cut(text, "-")
	if !found {
		return 0, 0, fmt.Errorf("'%s' is not of the form '22:00-06:00'", text)
	}
	if start, err = timeOfDay(from); err != nil {
		return 0, 0, err
	}
	end, err = timeOfDay(to)
	return start, end, err
}

// timeOfDay reads a time as a minute of its day.
func timeOfDay(text string) (int, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, fmt.Errorf("'%s' is not a time from 00:00 to 23:59", text)
	}
	return minuteOf(t), nil
}

// days are some days of the week: a bit for each, Sunday's first.
type days uint8

const everyDay days = 1<<7 - 1

// dayNames are the names of days, as time.Weekday counts them.
var dayNames = [7]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

func (d days) has(day time.Weekday) bool { return d&(1<<day) != 0 }

// readDays reads 'mon-fri', 'sat,sun' and the like; false if a text is nothing of the kind.
func readDays(text string) (d days, found bool) {
	for part := range strings.SplitSeq(strings.ToLower(text), ",") {
		from, to, ranged := strings.Cut(part, "-")
		first := slices.Index(dayNames[:], from)
		last := first
		if ranged {
			last = slices.Index(dayNames[:], to)
		}
		if first < 0 || last < 0 {
			return 0, false
		}

		for day := first; ; day = (day + 1) % 7 {
			d |= 1 << day
			if day == last {
				break
			}
		}
	}
	return d, true
}

// String names the days from Monday on, those that follow each other as a range.
func (d days) String() string {
	var parts []string
	for n := 0; n < 7; n++ {
		first := n
		for n < 7 && d.has(time.Weekday((n+1)%7)) {
			n++
		}

		switch name := func(n int) string { return dayNames[(n+1)%7] }; n - first {
		case 0:
		case 1:
			parts = append(parts, name(first))
		default:
			parts = append(parts, name(first)+"-"+name(n-1))
		}
	}
	return strings.Join(parts, ",")
}

// seekFor bounds how far ahead a clock is followed: what is not reached in two weeks, one of which
// may have an hour less, is never reached.
const seekFor = 15 * 24 * time.Hour

// seek is the first moment from t on, to the minute, at which the clock of t's location shows what is
// looked for, which depends only on the spans that it is in; zero if it never does.
func seek(t time.Time, spans []span, reached func(time.Time) bool) time.Time {
	if reached(t) {
		return t
	}
	end := t.Add(seekFor)
	for t = t.Truncate(time.Minute); t.Before(end); {
		if t = stride(t, spans); reached(t) {
			return t
		}
	}
	return time.Time{}
}

// stride is the next moment after t, which is a whole minute, at which a span may begin or end, or
// any before it.
func stride(t time.Time, spans []span) time.Time {
	now := minuteOf(t)
	next := minutesOfDay
	for _, s := range spans {
		for _, edge := range []int{s.start, s.end + 1} {
			if edge > now {
				next = min(next, edge)
			}
		}
	}

	guess := t.Add(time.Duration(next-now) * time.Minute)
	_, before := t.Zone()
	if _, after := guess.Zone(); after != before {
		return t.Add(time.Minute) // the clocks change in between
	}
	return guess
}

var aroundDash = regexp.MustCompile(`(:\d\d)\s*-\s*(\d)`)

// items splits what is separated by semicolons into words. There may be blanks around the dash
// between two times of day.
func items(text string) (all [][]string) {
	for item := range strings.SplitSeq(text, ";") {
		all = append(all, strings.Fields(aroundDash.ReplaceAllString(item, "$1-$2")))
	}
	return all
}
