package signal

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// status reads some of a server's counters. What it does not have is missing.
func status(ctx context.Context, server Querier, names ...string) (map[string]float64, error) {
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
}

const (
	usualAfter  = 3   // looks
	usualMemory = 0.9 // of what was seen before, at each look
)

// learn takes a value that has nothing to do with us.
func (u *usual) learn(v float64) {
	memory := min(usualMemory, float64(u.seen)/float64(u.seen+1))
	u.mean = u.mean*memory + v*(1-memory)
	u.seen++
}

// known reports whether enough was seen.
func (u *usual) known() bool { return u.seen >= usualAfter }
