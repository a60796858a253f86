package ttl

import (
	"sync"
	"time"
)

// gang finds the number of workers that is worth its while: one more as long as it brings at least gainWorth more rows
// per second, one less when it does not. It looks again now and then, because tables and neighbours change.
type gang struct {
	mu      sync.Mutex
	size    int // workers wanted now
	most    int
	rows    int64 // since began
	began   time.Time
	before  float64 // rows per second with one worker less
	trying  bool
	settled time.Time // until then the size stays
}

const (
	gangInterval = time.Second
	gangRest     = 30 * time.Second
	gainWorth    = 1.1
)

func newGang() *gang { return &gang{size: 1, most: 1, began: time.Now()} }

// limit sets the most workers there may be. A new limit starts in the middle.
func (g *gang) limit(most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if most == g.most {
		return
	}
	g.most = most
	g.size = (most + 1) / 2
	g.restart()
	g.trying, g.before, g.settled = false, 0, time.Time{}
}

// done reports rows that workers have deleted or looked through.
func (g *gang) done(rows int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rows += rows
}

// wanted is how many workers there should be now.
func (g *gang) wanted() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if now.Sub(g.began) < gangInterval {
		return g.size
	}
	speed := float64(g.rows) / now.Sub(g.began).Seconds()
	g.restart()
	switch {
	case speed == 0 || now.Before(g.settled): // idle, or found
	case !g.trying && g.size < g.most:
		g.before, g.trying = speed, true
		g.size++
	case g.trying && speed < gainWorth*g.before:
		g.size--
		g.trying, g.settled = false, now.Add(gangRest)
	case g.trying && g.size < g.most:
		g.before = speed
		g.size++
	case g.trying:
		g.trying, g.settled = false, now.Add(gangRest)
	default: // at the limit for a while: is the last one still worth it?
		g.size = max(g.size-1, 1)
		g.settled = now.Add(gangInterval)
	}
	return g.size
}

func (g *gang) restart() { g.rows, g.began = 0, time.Now() }
