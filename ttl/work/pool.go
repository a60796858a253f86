package work

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// Pool makes the engine's sessions, and keeps those of workers that are between two tasks: opening
// one takes as long as a small job.
type Pool struct {
	Admit  func(context.Context, *sql.Conn) error                // may refuse the server at the other end
	Pauses func(context.Context, tables.Querier) (string, error) // may have reasons not to delete there
	Key    string                                                // the expression that tells servers apart
	Setup  []string                                              // further statements for each connection

	db      *sql.DB
	flavour atomic.Pointer[string]

	mu   sync.Mutex
	idle []*Session
}

// NewPool makes a pool of sessions of an account. No prepared statements: every text is complete.
func NewPool(cfg *mysql.Config) (*Pool, error) {
	cfg = cfg.Clone()
	cfg.MultiStatements = true // a batch is one packet
	cfg.InterpolateParams = true
	cfg.ClientFoundRows = true      // an UPDATE that changes nothing has still found its row
	cfg.Logger = &mysql.NopLogger{} // errors are returned, and told once
	cfg.ParseTime = false           // values travel as the server's text

	cfg.ConnectionAttributes = strings.TrimPrefix(cfg.ConnectionAttributes+
		",program_name:ttlproxy,ttlproxy_role:engine", ",")
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}

	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("engine connection: %w", err)
	}

	db := sql.OpenDB(connector)
	db.SetMaxIdleConns(0) // sessions are kept, or closed; never pooled
	return &Pool{db: db}, nil
}

// Session is one that is not open yet.
func (p *Pool) Session() *Session {
	return &Session{db: p.db, admit: p.Admit, key: p.Key, setup: p.Setup, flavour: &p.flavour}
}

// deleter is a session that deletes: a server with reasons to wait is not even asked.
func (p *Pool) deleter() *Session {
	s := p.Session()
	s.pauses = p.Pauses
	return s
}

// borrow gives a worker a session, the last one used if it is still good.
func (p *Pool) borrow() *Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return s
	}
	return p.deleter()
}

// handBack keeps a worker's session for the next one.
func (p *Pool) handBack(s *Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.conn != nil {
		p.idle = append(p.idle, s)
	}
}

// Trim closes what has been idle for some time, before the server does so with a warning in its
// log.
func (p *Pool) Trim(idle time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.idle[:0]
	for _, s := range p.idle {
		if time.Since(s.used) < idle {
			kept = append(kept, s)
		} else {
			s.Close()
		}
	}
	p.idle = kept
}

// Close ends every session.
func (p *Pool) Close() { _ = p.db.Close() }
