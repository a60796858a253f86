package proxy

import (
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

const (
	slowTextRead    = 4 << 10 // of a statement that is kept while the server works on it
	slowTextLogged  = 1 << 10
	slowPrepared    = 256 // statements of a session whose texts are remembered
	slowOutstanding = 16  // commands of a session whose texts are kept at once
	slowPerSecond   = 10  // lines of the whole proxy
)

// slowLog is a session's part of the slow log. It is used with the session's lock held.
type slowLog struct {
	threshold   time.Duration
	outstanding []slowCommand     // oldest first
	prepared    map[uint32]string // texts of prepared statements, without values
}

// slowCommand is a command that the server has not answered yet.
type slowCommand struct {
	started   int64
	text      []byte // of a query or of a statement to prepare
	statement uint32 // that is executed
}

// begin keeps the beginning of a command that will be answered.
func (l *slowLog) begin(now int64, c wire.Command, payload []byte, caps wire.Capability) {
	switch c {
	case wire.CloseStatement:
		id, _ := wire.StatementID(payload)
		delete(l.prepared, id)
	case wire.ChangeUser, wire.ResetConnection:
		l.prepared = nil // the server drops them, too
	default:
	}

	n := len(l.outstanding)
	if n == slowOutstanding || !c.IsAnswered() {
		return
	}

	if n < cap(l.outstanding) {
		l.outstanding = l.outstanding[:n+1] // with the buffer of an earlier one
	} else {
		l.outstanding = append(l.outstanding, slowCommand{})
	}

	o := &l.outstanding[n]
	o.started, o.text, o.statement = now, o.text[:0], 0
	switch c {
	case wire.Query, wire.Prepare:
		if at, ok := wire.QueryText(payload, caps); ok {
			o.text = append(o.text, payload[at:min(len(payload), at+slowTextRead)]...)
		}
	case wire.Execute, wire.BulkExecute, wire.Fetch:
		o.statement, _ = wire.StatementID(payload)
	default:
	}
}

// end logs a command if it was slow.
func (l *slowLog) end(r wire.Report, took time.Duration, s *session) {
	for len(l.outstanding) > 0 && l.outstanding[0].started < r.Started {
		l.forget()
	}
	if len(l.outstanding) == 0 || l.outstanding[0].started != r.Started {
		return // it was one too many
	}

	o := l.outstanding[0]
	noBackslash := r.Status.Has(wire.NoBackslashEscapes)
	if r.Command == wire.Prepare && !r.Failed() && len(l.prepared) < slowPrepared {
		if l.prepared == nil {
			l.prepared = make(map[uint32]string)
		}
		l.prepared[r.Statement] = redact(o.text, noBackslash, slowTextLogged)
	}

	if took >= l.threshold {
		l.write(r, o, took, noBackslash, s)
	}

	l.forget()
}

// forget drops the oldest command and keeps its buffer for a later one.
func (l *slowLog) forget() {
	n, o := len(l.outstanding)-1, l.outstanding[0]
	copy(l.outstanding, l.outstanding[1:])
	l.outstanding[n] = o
	l.outstanding = l.outstanding[:n]
}

func (l *slowLog) write(r wire.Report, o slowCommand, took time.Duration, noBackslash bool, s *session) {
	if !s.server.slowLines.allow() {
		return
	}
	text := l.prepared[o.statement]
	if len(o.text) > 0 {
		text = redact(o.text, noBackslash, slowTextLogged)
	}
	s.log.Warn("slow statement",
		slog.String("user", s.login.user), slog.String("client", s.peer.String()),
		slog.String("command", r.Command.String()), slog.Duration("took", took), slog.Int("code", int(r.Code)),
		slog.String("statement", text), slog.Int64("left_out", s.server.slowLines.leftOut.Swap(0)))
}

// slowLines bounds how many lines are written, so that a bad hour on the server does not fill the
// proxy's disk.
type slowLines struct {
	limit   *rate.Limiter
	leftOut *atomic.Int64
}

func newSlowLines() slowLines {
	return slowLines{limit: rate.NewLimiter(slowPerSecond, slowPerSecond), leftOut: new(atomic.Int64)}
}

func (l slowLines) allow() bool {
	if l.limit.Allow() {
		return true
	}
	l.leftOut.Add(1)
	return false
}
