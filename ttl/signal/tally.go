package signal

import "time"

// Tally remembers for an hour how long each signal has held deletion back, to the minute. The zero
// value is ready.
type Tally struct {
	held  map[tallied]*hour
	began time.Time // of its first minute: clocks may be set back
}

type tallied struct{ signal, source string }

// hour is one bucket a minute.
type hour struct {
	minutes [60]time.Duration
	last    int64 // minute of the last bucket that was written
}

// Add notes that a reading has held deletion back for d until now.
func (t *Tally) Add(r Reading, d time.Duration) {
	if t.held == nil {
		t.held, t.began = map[tallied]*hour{}, time.Now()
	}
	key := tallied{r.Signal, r.Source}
	h := t.held[key]
	if h == nil {
		h = &hour{}
		t.held[key] = h
	}
	h.roll(t.minute())
	h.minutes[h.last%60] += d
}

// Share is the part of the last hour in which a reading's signal has held deletion back.
func (t *Tally) Share(r Reading) float64 {
	h := t.held[tallied{r.Signal, r.Source}]
	if h == nil {
		return 0
	}

	h.roll(t.minute())
	var sum time.Duration
	for _, d := range h.minutes {
		sum += d
	}
	return min(sum.Hours(), 1)
}

// roll empties the buckets of minutes that have passed.
func (h *hour) roll(minute int64) {
	for h.last = max(h.last, minute-60); h.last < minute; {
		h.last++
		h.minutes[h.last%60] = 0
	}
}

// minute is the number of this one.
func (t *Tally) minute() int64 { return int64(time.Since(t.began) / time.Minute) }
