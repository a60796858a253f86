package statement

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// restWait is for how long nobody asks a catalog that has let somebody wait in vain.
	restWait = 5 * time.Second
	// retryWait is how long the one waits who asks again after that.
	retryWait = 500 * time.Millisecond
)

// patience is how long statements wait to learn from the catalog whether they concern it. Most do
// not, and a catalog that hangs must not slow a dump of a thousand tables by five seconds for each:
// after one that has waited in vain the others pass at once, as they would after that wait, and one
// every few seconds finds out whether the catalog is back.
//
//	asks, for askWait ─── in vain ──► asks nothing, for restWait ◄── in vain ───┐
//	       ▲                                        │                           │
//	       └────────── an answer ──────── one asks, for retryWait ──────────────┘
type patience struct {
	mu    sync.Mutex
	hangs bool
	until time.Time // nobody asks before

	first time.Duration // instead of askWait, for tests
}

// errHangs is why a catalog is not asked.
var errHangs = errors.New("it has not answered for a while")

// ask runs a question to the catalog, for as long as it is worth while.
func (p *patience) ask(ctx context.Context, question func(context.Context) error) error {
	wait := p.take()
	if wait == 0 {
		return errHangs
	}

	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := question(ctx)
	p.learn(errors.Is(err, context.DeadlineExceeded))
	return err
}

// take returns how long to wait, 0 for not at all.
func (p *patience) take() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.hangs && p.first > 0:
		return p.first
	case !p.hangs:
		return askWait
	case time.Now().Before(p.until):
		return 0
	default:
		p.until = time.Now().Add(restWait) // the others need not wait for what this one finds out
		return retryWait
	}
}

// learn records whether the catalog has let somebody wait in vain.
func (p *patience) learn(inVain bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hangs = inVain; inVain {
		p.until = time.Now().Add(restWait)
	}
}
