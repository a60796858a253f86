package proxy

import (
	"sync/atomic"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// memory is what a session remembers between commands: nothing, unless it concerns us. It belongs
// to up.
type memory struct {
	statements map[uint32]Memo // prepared statements of ours, by id
	// the one prepared last, if it is ours: a client that does not wait for the id names it by
	// LastStatement
	last      Memo
	named     named         // those of PREPARE name FROM
	multi     bool          // several statements in one packet are allowed
	held      int64         // how many bytes the statements take
	heldByAll *atomic.Int64 // and those of all sessions
	remarks                 // about the last statement
}

// Memo is what a handler remembers of a statement that it has prepared, for its EXECUTE.
type Memo interface {
	// Size is about how many bytes of memory it takes.
	Size() int64
	// ByName reports whether a statement that is prepared under a name is also run on the server
	// under a name, one of ours: then EXECUTE can pass it values, and its rows come in the form
	// that the client expects. Otherwise it is run by a number that only this session knows.
	ByName() bool
	// Parameterised is why a statement with parameters cannot be prepared under a name; nil if the
	// server alone may run it.
	Parameterised() error
}

// remarks are our part of what SHOW WARNINGS shows.
type remarks struct {
	notes []Note
	alone bool // and nothing of the server's
}

// Note is a row that SHOW WARNINGS shows.
type Note struct {
	Level   string // Note, Warning or Error
	Code    uint16
	Message string
}

// pass records a command that passes without being held.
func (m *memory) pass(c wire.Command) {
	switch c {
	case wire.Query, wire.Prepare, wire.Execute, wire.BulkExecute, wire.ChangeUser, wire.ResetConnection:
		m.remarks = remarks{} // others leave the server's warnings alone, too
	default:
	}
	if m.statements == nil && m.named.all == nil {
		return
	}
	switch c {
	case wire.ChangeUser, wire.ResetConnection:
		m.forget() // the server drops its prepared statements, too
	case wire.Prepare:
		m.last = nil
	default:
	}
}

// option records COM_SET_OPTION, which allows (0) or forbids (1) several statements in one packet.
func (m *memory) option(payload []byte) {
	if len(payload) >= 3 {
		m.multi = payload[1] == 0 && payload[2] == 0
	}
}

// prepared remembers what EXECUTE of a statement must do.
func (m *memory) prepared(id uint32, memo Memo) {
	if m.statements == nil {
		m.statements = make(map[uint32]Memo)
	}
	m.closed(id)
	m.statements[id] = memo
	m.last = memo
	m.tally(memo, 1)
}

// refusedPrepare stands for a statement that we refused to prepare: a client that did not wait for
// our answer executes it by LastStatement, and must not get the previous one.
type refusedPrepare struct{}

func (refusedPrepare) Size() int64          { return 0 }
func (refusedPrepare) ByName() bool         { return false }
func (refusedPrepare) Parameterised() error { return nil }

// refused records a PREPARE that the server has not seen.
func (m *memory) refused() {
	if m.statements == nil {
		m.statements = make(map[uint32]Memo)
	}
	m.last = refusedPrepare{}
}

// closed forgets a statement.
func (m *memory) closed(id uint32) {
	m.tally(m.statements[id], -1)
	delete(m.statements, id)
}

// forget forgets them all.
func (m *memory) forget() {
	m.count(-m.held)
	*m = memory{multi: m.multi, heldByAll: m.heldByAll}
}

// The memory that prepared statements may take: a long one takes many times its length, and servers
// let an account without any right prepare thousands.
const (
	heldBySession  = 32 << 20
	heldBySessions = 256 << 20
)

// room refuses a statement for which there is no room.
func (m *memory) room(size int64) error {
	if m.held+size <= heldBySession && m.heldByAll.Load()+size <= heldBySessions {
		return nil
	}
	return &wire.Error{
		Code: ddl.CodeTooManyPrepared, State: "42000",
		Message: "ttlproxy: too much is prepared: close the statements on tables and TTL that are not needed, or " +
			"send this one as text",
	}
}

// tally counts the memory that a statement takes, times one or minus one.
func (m *memory) tally(memo Memo, times int64) {
	if memo != nil {
		m.count(times * memo.Size())
	}
}

func (m *memory) count(bytes int64) {
	m.held += bytes
	m.heldByAll.Add(bytes)
}

// statement finds what EXECUTE of a statement must do.
func (m *memory) statement(id uint32) Memo {
	if id == wire.LastStatement {
		return m.last
	}
	return m.statements[id]
}
