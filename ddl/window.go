package ddl

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrWindow is wrapped by every error about a window.
var ErrWindow = errors.New("not a valid window")

// Window is a part of the day, inclusive at both ends to the minute. One whose end is before its
// start crosses midnight.
type Window struct {
	start, end int // minutes of the day
}

// ParseWindow reads the value of TTL_WINDOW: '22:00-06:00'.
func ParseWindow(text string) (Window, error) {
	from, to, found := strings.Cut(text, "-")
	start, errStart := time.Parse("15:04", strings.TrimSpace(from))
	end, errEnd := time.Parse("15:04", strings.TrimSpace(to))
	if !found || errStart != nil || errEnd != nil {
		return Window{}, fmt.Errorf("%w: '%s' is not of the form '22:00-06:00'", ErrWindow, text)
	}
	return NewWindow(start, end), nil
}

// NewWindow takes the times of day of two moments.
func NewWindow(start, end time.Time) Window { return Window{minuteOf(start), minuteOf(end)} }

// Contains reports whether the clock of t's location shows a time in the window.
func (w Window) Contains(t time.Time) bool {
	m := minuteOf(t)
	if w.start <= w.end {
		return w.start <= m && m <= w.end
	}
	return m >= w.start || m <= w.end
}

// Opens is the first moment at or after t that is in the window.
func (w Window) Opens(t time.Time) time.Time {
	if w.Contains(t) {
		return t
	}
	t = t.Truncate(time.Minute)
	guess := t.Add(time.Duration((w.start-minuteOf(t)+minutesOfDay)%minutesOfDay) * time.Minute)
	if w.Contains(guess) && !w.Contains(guess.Add(-time.Minute)) {
		return guess
	}
	for !w.Contains(t) { // the clocks change in between
		t = t.Add(time.Minute)
	}
	return t
}

// Closes is the first moment after t, which is in the window, that is not; zero for a window of the
// whole day.
func (w Window) Closes(t time.Time) time.Time {
	if (w.end+1)%minutesOfDay == w.start {
		return time.Time{}
	}
	t = t.Truncate(time.Minute)
	guess := t.Add(time.Duration((w.end+1-minuteOf(t)+minutesOfDay)%minutesOfDay) * time.Minute)
	if !w.Contains(guess) && w.Contains(guess.Add(-time.Minute)) {
		return guess
	}
	for w.Contains(t) { // the clocks change in between
		t = t.Add(time.Minute)
	}
	return t
}

// Closed is how long the window stays closed, on a day without a clock change.
func (w Window) Closed() time.Duration {
	return time.Duration((w.start-w.end-1+2*minutesOfDay)%minutesOfDay) * time.Minute
}

// String is the window as TTL_WINDOW takes it.
func (w Window) String() string {
	return fmt.Sprintf("%02d:%02d-%02d:%02d", w.start/60, w.start%60, w.end/60, w.end%60)
}

const minutesOfDay = 24 * 60

func minuteOf(t time.Time) int { return t.Hour()*60 + t.Minute() }
