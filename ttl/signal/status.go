package signal

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// status returns some of a server's counters, perhaps among others. What it does not have is missing.
func status(ctx context.Context, server Querier, names ...string) (map[string]float64, error) {
	if c, shared := server.(*counters); shared {
		return c.status(ctx, names)
	}
	return readStatus(ctx, server, names)
}

// counters are a server at one look: the counters that several signals have asked for at earlier ones
// are read once for all of them.
type counters struct {
	Querier
	asked *asked

	once   sync.Once
	values map[string]float64
	err    error
}

// asked are the names of counters that signals have asked for so far.
type asked struct {
	mu    sync.Mutex
	names []string
}

// know reports whether all these have been asked for before, and remembers that they were now.
func (a *asked) know(names []string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := true
	for _, name := range names {
		if !slices.Contains(a.names, name) {
			a.names, known = append(a.names, name), false
		}
	}
	return known
}

// all are the names so far.
func (a *asked) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.names)
}

func (c *counters) status(ctx context.Context, names []string) (map[string]float64, error) {
	if !c.asked.know(names) {
		return readStatus(ctx, c.Querier, names)
	}
	c.once.Do(func() { c.values, c.err = readStatus(ctx, c.Querier, c.asked.all()) })
	return c.values, c.err
}

// readStatus reads some of a server's counters. What it does not have is missing.
func readStatus(ctx context.Context, server Querier, names []string) (map[string]float64, error) {
	rows, err := server.QueryContext(ctx,
		"SHOW GLOBAL STATUS WHERE Variable_name IN ('"+strings.Join(names, "', '")+"')")
	if err != nil {
		return nil, fmt.Errorf("read the server's counters: %w", err)
	}
	defer rows.Close()

	values := map[string]float64{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, err
		}
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			values[strings.ToLower(name)] = v
		}
	}
	return values, rows.Err()
}

// speed is how fast a counter counts. The zero value has not seen it yet.
type speed struct {
	at    time.Time
	count float64
}

const (
	// shortest is the time over which a speed is taken at least: in less, a counter that moves by
	// steps says anything.
	shortest = 200 * time.Millisecond
	// longest is the most: what was hours ago is over.
	longest = 30 * time.Second
)

// per is the count per second since the last call; false if there was none, long ago, or the counter
// began anew.
func (s *speed) per(count float64) (perSecond float64, known bool) {
	now := time.Now()
	took := now.Sub(s.at)
	if took < shortest {
		return 0, false
	}
	known = took <= longest && count >= s.count
	perSecond = (count - s.count) / took.Seconds()
	s.at, s.count = now, count
	return perSecond, known
}

// usual is what a value is while the engine rests: an average that forgets slowly, but follows.
type usual struct {
	mean float64
	seen int
	at   time.Time
}

const (
	usualAfter = 3 // looks
	// usualMemory is how long it takes to forget most of what was seen: who looks more often does not
	// learn faster.
	usualMemory = 100 * time.Second
	// usualBetween is the most that the time between two looks counts for, as at rest: a single look after a long time
	// in which nothing could be learnt says no more than any other.
	usualBetween = 10 * time.Second
)

// learn takes a value that has nothing to do with us.
func (u *usual) learn(v float64) {
	now := time.Now()
	memory := math.Exp(-min(now.Sub(u.at), usualBetween).Seconds() / usualMemory.Seconds())
	if !u.known() {
		memory = float64(u.seen) / float64(u.seen+1)
	}
	u.mean = u.mean*memory + v*(1-memory)
	u.seen, u.at = u.seen+1, now
}

// usualKept is for how long what was learnt before a break is believed.
const usualKept = 10 * time.Minute

// resume forgets what was learnt long ago, before somebody else has looked: applications change meanwhile. Without a
// break it stays, however long nothing could be learnt.
func (u *usual) resume(led time.Time) {
	if u.at.Before(led) && time.Since(u.at) > usualKept {
		*u = usual{}
	}
}

// known reports whether enough was seen.
func (u *usual) known() bool { return u.seen >= usualAfter }
