package ttl

import (
	"context"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// sessions keeps those that are between two tasks: opening one takes as long as a small job.
type sessions struct {
	mu   sync.Mutex
	idle []*session
}

// newSession is a session that is not open yet.
func (e *Engine) newSession() *session {
	return &session{db: e.db, admit: e.cfg.Admit, key: e.store.ServerKey(), setup: e.cfg.afterOpen, flavour: &e.flavour}
}

// newDeleter is a session that deletes: a server with reasons to wait is not even asked.
func (e *Engine) newDeleter() *session {
	s := e.newSession()
	s.holds = func(ctx context.Context, q tables.Querier) (string, error) {
		return serverHold(ctx, q, *e.limits.Load())
	}
	return s
}

// borrow gives a worker a session, the last one used if it is still good.
func (e *Engine) borrow() *session {
	e.sessions.mu.Lock()
	defer e.sessions.mu.Unlock()
	if n := len(e.sessions.idle); n > 0 {
		s := e.sessions.idle[n-1]
		e.sessions.idle = e.sessions.idle[:n-1]
		return s
	}
	return e.newDeleter()
}

// handBack keeps a worker's session for the next one.
func (e *Engine) handBack(s *session) {
	e.sessions.mu.Lock()
	defer e.sessions.mu.Unlock()
	if s.conn != nil {
		e.sessions.idle = append(e.sessions.idle, s)
	}
}

// trim closes what has been idle for some time, before the server does so with a warning in its
// log.
func (e *Engine) trim(idle time.Duration) {
	e.sessions.mu.Lock()
	defer e.sessions.mu.Unlock()
	kept := e.sessions.idle[:0]
	for _, s := range e.sessions.idle {
		if time.Since(s.used) < idle {
			kept = append(kept, s)
		} else {
			s.close()
		}
	}
	e.sessions.idle = kept
}
