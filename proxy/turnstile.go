package proxy

import (
	"context"
	"slices"
	"sync"
	"time"
)

// turnstile lets so many logins in at a time, and the others in the order in which they came: after
// a fail-over all clients come at once.
type turnstile struct {
	mu     sync.Mutex
	inside int
	queue  []chan struct{} // one for each that waits; closed when it is let in
}

// longestLogin is how long a login counts. One that takes longer waits for its client, and must not
// keep others out.
const longestLogin = time.Second

// enter waits until fewer than most are inside; 0 is no limit.
func (t *turnstile) enter(ctx context.Context, most int) (leave func(), err error) {
	if most <= 0 {
		return func() {}, nil
	}

	t.mu.Lock()
	if t.inside < most && len(t.queue) == 0 {
		t.inside++
		t.mu.Unlock()
		return t.way(most), nil
	}

	turn := make(chan struct{})
	t.queue = append(t.queue, turn)
	t.mu.Unlock()

	select {
	case <-turn:
		return t.way(most), nil
	case <-ctx.Done():
		t.giveUp(turn, most)
		return nil, ctx.Err()
	}
}

// way is how one that was let in leaves again, at the latest when its time is up.
func (t *turnstile) way(most int) (leave func()) {
	out := sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.inside--
		t.admit(most)
	})
	limit := time.AfterFunc(longestLogin, out)
	return func() {
		limit.Stop()
		out()
	}
}

// giveUp takes one that waits out of the queue, or lets the next one in if it was just let in
// itself.
func (t *turnstile) giveUp(turn chan struct{}, most int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.Index(t.queue, turn); at >= 0 {
		t.queue = slices.Delete(t.queue, at, at+1)
		return
	}
	t.inside--
	t.admit(most)
}

// admit lets in who is next. It is called with the lock held.
func (t *turnstile) admit(most int) {
	for len(t.queue) > 0 && t.inside < most {
		close(t.queue[0])
		t.queue = t.queue[1:]
		t.inside++
	}
}
