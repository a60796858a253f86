package ddl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrWindow is wrapped by every error about a window.
var ErrWindow = errors.New("not a valid window")

// Window is some hours of some days of the week, inclusive at both ends to the minute.
type Window struct {
	spans []span
}

// ParseWindow reads the value of TTL_WINDOW: '22:00-06:00', 'mon-fri 22:00-06:00; sat-sun'. Hours
// that cross midnight are of the day on which they start.
func ParseWindow(text string) (w Window, err error) {
	for _, words := range items(text) {
		s, rest, err := readSpan(words)
		if err == nil && (len(words) == 0 || len(rest) > 0) {
			err = fmt.Errorf("'%s' is not of the form '22:00-06:00' or 'mon-fri 22:00-06:00; sat-sun'", text)
		}
		if err != nil {
			return Window{}, fmt.Errorf("%w: %w", ErrWindow, err)
		}
		w.spans = append(w.spans, s)
	}
	return w, nil
}

// NewWindow takes the times of day of two moments, on every day.
func NewWindow(start, end time.Time) Window {
	return Window{[]span{{everyDay, minuteOf(start), minuteOf(end)}}}
}

// Contains reports whether the clock of t's location shows a time in the window.
func (w Window) Contains(t time.Time) bool {
	return slices.ContainsFunc(w.spans, func(s span) bool { return s.contains(t) })
}

// Opens is the first moment at or after t that is in the window.
func (w Window) Opens(t time.Time) time.Time { return seek(t, w.spans, w.Contains) }

// Closes is the first moment after t, which is in the window, that is not; zero for a window that is
// never closed.
func (w Window) Closes(t time.Time) time.Time {
	return seek(t, w.spans, func(t time.Time) bool { return !w.Contains(t) })
}

// Closed is how long the window stays closed, at most, in a week without a clock change; 0 for one that is
// never closed.
func (w Window) Closed() (longest time.Duration) {
	at := time.Unix(0, 0).UTC()
	for end := at.AddDate(0, 0, 14); at.Before(end); { // a gap may begin in one week and end in the next
		closes := w.Closes(at)
		if closes.IsZero() {
			break
		}
		at = w.Opens(closes)
		longest = max(longest, at.Sub(closes))
	}
	return longest
}

// String is the window as TTL_WINDOW takes it.
func (w Window) String() string {
	var all []string
	for _, s := range w.spans {
		all = append(all, s.String())
	}
	return strings.Join(all, "; ")
}
