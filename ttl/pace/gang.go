package pace

import (
	"sync"
	"time"
)

// Gang finds the number of workers that pays off. It begins with all and goes down as long as one
// fewer costs hardly anything, goes up again as long as one more brings gainWorth times the rows
// per second, rests, and then searches again: tables and neighbours change.
type Gang struct {
	mu        sync.Mutex
	size      int // workers wanted now
	most      int
	rows      int64 // since began
	began     time.Time
	direction int     // of the search: up or down
	trying    bool    // size was just changed in that direction
	before    float64 // rows per second before it was
	rest      time.Time
}

const (
	gangInterval = 5 * time.Second
	gangRest     = 30 * time.Second
	gainWorth    = 1.1
	lossWorth    = 1.03
)

// NewGang begins with one worker.
func NewGang() *Gang { return &Gang{size: 1, most: 1, direction: 1, began: time.Now()} }

// Limit sets the most workers there may be.
func (g *Gang) Limit(most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if most == g.most {
		return
	}
	g.most, g.size = most, most
	g.direction, g.trying, g.rest = -1, false, time.Time{}
	g.restart()
}

// Done reports rows that workers have deleted or examined.
func (g *Gang) Done(rows int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rows += rows
}

// Forget begins to measure anew: what was done lately was not limited by the number of workers.
func (g *Gang) Forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trying = false
	g.restart()
}

// Wanted is how many workers there should be now.
func (g *Gang) Wanted() int {
	g.mu.Lock()
	defer g.mu.Unlock()

	now := time.Now()
	if now.Sub(g.began) < gangInterval {
		return g.size
	}

	speed := float64(g.rows) / now.Sub(g.began).Seconds()
	g.restart()
	if speed == 0 || now.Before(g.rest) {
		return g.size
	}

	if g.trying && !g.worth(speed) {
		g.size -= g.direction
		g.reverse(now)
		return g.size
	}

	g.before = speed
	if next := g.size + g.direction; next >= 1 && next <= g.most {
		g.size, g.trying = next, true
	} else {
		g.reverse(now)
	}

	return g.size
}

// worth compares with the speed before the last step.
func (g *Gang) worth(speed float64) bool {
	if g.direction > 0 {
		return speed >= gainWorth*g.before
	}
	return speed*lossWorth > g.before
}

// reverse ends the descent or, after the climb, the search.
func (g *Gang) reverse(now time.Time) {
	if g.direction > 0 {
		g.rest = now.Add(gangRest)
	}
	g.direction, g.trying = -g.direction, false
}

func (g *Gang) restart() { g.rows, g.began = 0, time.Now() }
