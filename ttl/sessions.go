package ttl

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

// pool makes the engine's sessions, and keeps those of workers that are between two tasks: opening
// one takes as long as a small job.
type pool struct {
	admit  func(context.Context, *sql.Conn) error                // may refuse the server at the other end
	pauses func(context.Context, tables.Querier) (string, error) // may have reasons not to delete there
	key    string                                                // the expression that tells servers apart
	setup  []string                                              // further statements for each connection

	db      *sql.DB
	flavour atomic.Pointer[string]

	mu   sync.Mutex
	idle []*session
}

// newPool makes a pool of sessions of an account. No prepared statements: every text is complete.
func newPool(cfg *mysql.Config) (*pool, error) {
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
	return &pool{db: db}, nil
}

// session is one that is not open yet.
func (p *pool) session() *session {
	return &session{db: p.db, admit: p.admit, key: p.key, setup: p.setup, flavour: &p.flavour}
}

// deleter is a session that deletes: a server with reasons to wait is not even asked.
func (p *pool) deleter() *session {
	s := p.session()
	s.pauses = p.pauses
	return s
}

// borrow gives a worker a session, the last one used if it is still good.
func (p *pool) borrow() *session {
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
func (p *pool) handBack(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.conn != nil {
		p.idle = append(p.idle, s)
	}
}

// trim closes what has been idle for some time, before the server does so with a warning in its
// log.
func (p *pool) trim(idle time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.idle[:0]
	for _, s := range p.idle {
		if time.Since(s.used) < idle {
			kept = append(kept, s)
		} else {
			s.close()
		}
	}
	p.idle = kept
}

// close ends every session.
func (p *pool) close() { _ = p.db.Close() }
