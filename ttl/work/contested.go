package work

import (
	"sync"
	"time"
)

// contested remembers in which tables batches have lately run into locked rows. There they first
// take all their locks, or learn at once that they cannot, and nothing is deleted and rolled back.
// It costs a sixth of the time of a batch, so it is not done where nobody is met. On MySQL, whose
// shortest wait is a second, every batch does so.
type contested struct {
	mu  sync.Mutex
	met map[uint64]time.Time // by policy
}

// contestedFor is how long somebody who was met is expected again.
const contestedFor = 5 * time.Minute

func newContested() *contested { return &contested{met: map[uint64]time.Time{}} }

// meet notes that somebody had locked rows that a batch wanted. A nil contested forgets.
func (c *contested) meet(policy uint64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.met[policy] = time.Now()
}

func (c *contested) lately(policy uint64) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at, met := c.met[policy]
	if met && time.Since(at) > contestedFor {
		delete(c.met, policy)
		return false
	}
	return met
}
