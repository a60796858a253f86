package proxy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// Exchange is a command that was held back, and what can be done about it. Nothing else happens in
// its session meanwhile.
//
// A handler answers the client exactly once, or once per part of a multi-statement packet: with
// Pass or Forward (the server's answer), Hold and Send (the server's answer, looked at before), or
// OK, Err or Rows (ours). Before every part but the last it calls More. An error of the server is
// not a Go error of these methods: it is in the Report, and has been passed on. A Go error means
// that the session is over; the handler returns it.
type Exchange struct {
	// Command is Query, Prepare, Execute or BulkExecute.
	Command wire.Command

	s       *session
	payload []byte  // begins with the command
	seq     byte    // of the next packet to the client
	more    bool    // another answer follows the next one
	open    bool    // the client still waits
	naming  *naming // while PREPARE name FROM is carried out
	broken  error   // the session cannot go on
	remarks         // of the statement before

	begun   int64  // when the command could have gone to the server
	servers int64  // how long the server took for the command itself
	ours    bool   // no server would have answered it
	code    uint16 // the error that it was answered with, if any
}

// Text is the SQL of a Query or Prepare. It is valid as long as the exchange.
func (x *Exchange) Text() []byte {
	at, _ := wire.QueryText(x.payload, x.s.login.capabilities)
	return x.payload[at:]
}

// Memo is what Prepare was given for the statement that is being executed, nil for other commands.
func (x *Exchange) Memo() Memo {
	if id, ok := wire.StatementID(x.payload); ok && x.Command != wire.Query && x.Command != wire.Prepare {
		return x.s.memory.statement(id)
	}
	return nil
}

// ConnectionID is the server's number of the session.
func (x *Exchange) ConnectionID() uint32 { return x.s.login.connectionID }

// MariaDB reports whether the server said at login that it is one.
func (x *Exchange) MariaDB() bool { return x.s.login.mariaDB }

// MultiStatements reports whether the server takes several statements in one packet from this
// client.
func (x *Exchange) MultiStatements() bool { return x.s.memory.multi }

// Status is the session's status as the server said last.
func (x *Exchange) Status() wire.Status { return x.s.status() }

// Capabilities are those in effect between the client and the server.
func (x *Exchange) Capabilities() wire.Capability { return x.s.login.capabilities }

// Open reports whether the client still waits for an answer.
func (x *Exchange) Open() bool { return x.open }

// More says that the next answer is followed by another (true), or is the last (false).
func (x *Exchange) More(more bool) { x.more = more }

// rewrite is the held command with another text. Query attributes stay in front of it.
func (x *Exchange) rewrite(text string) []byte {
	at, _ := wire.QueryText(x.payload, x.s.login.capabilities)
	return append(append(make([]byte, 0, at+len(text)), x.payload[:at]...), text...)
}

// Ask runs a statement of ours in the client's own session and returns its answer, of which the
// client sees nothing. An error of the server is returned as *wire.Error. With autocommit = 0 every
// question begins a transaction, which would keep its tables locked for as long as the client says
// nothing: one that has begun by ours ends with it.
func (x *Exchange) Ask(sql string) (*wire.Result, error) {
	between := x.s.status()&(wire.InTransaction|wire.Autocommit) == 0
	b, _, err := x.collect(x.query(sql), &toBuffer{})
	if err != nil {
		return nil, err
	}
	r, err := wire.DecodeResult(b, wire.TextRows, x.s.login.capabilities)
	if between && x.s.status().InTransaction() {
		if _, _, broken := x.collect(x.query("ROLLBACK AND NO CHAIN NO RELEASE"), &toBuffer{}); broken != nil {
			return nil, broken
		}
	}
	return r, err
}

// SelectValues is the query that AskValues sends. Its values come in UTF-8, whatever character set
// the client wants its results in, because the server does not convert binary strings, and whatever
// limit the client has set for its own SELECTs.
func SelectValues(expressions ...string) string {
	items := make([]string, len(expressions))
	for i, e := range expressions {
		items[i] = "CAST(CONVERT((" + e + ") USING utf8mb4) AS BINARY)"
	}
	return "SELECT " + strings.Join(items, ", ") + " LIMIT 1"
}

// AskValues runs a query that is answered with one row. NULL is the empty string.
func (x *Exchange) AskValues(question string) ([]string, error) {
	row, err := x.AskRow(question)
	values := make([]string, len(row))
	for i, v := range row {
		values[i] = string(v)
	}
	return values, err
}

// AskRow is AskValues for those to whom NULL, which is nil, is not the empty string.
func (x *Exchange) AskRow(question string) ([][]byte, error) {
	r, err := x.Ask(question)
	if err != nil {
		return nil, err
	}
	if len(r.Rows) != 1 {
		return nil, fmt.Errorf("the server answered %d rows to a question for values", len(r.Rows))
	}
	return r.Rows[0], nil
}

// query is a COM_QUERY without query attributes.
func (x *Exchange) query(sql string) []byte {
	payload := []byte{byte(wire.Query)}
	if x.s.login.capabilities.Has(wire.QueryAttributes) {
		payload = append(payload, 0, 1)
	}
	return append(payload, sql...)
}

// Pass sends the held command as it is and lets the answer through.
func (x *Exchange) Pass() (wire.Report, error) { return x.stream(x.payload) }

// Forward sends the held command with another text and lets the answer through.
func (x *Exchange) Forward(sql string) (wire.Report, error) { return x.stream(x.rewrite(sql)) }

// stream sends a command; the answer goes to the client as it comes, which may include requests for
// files.
func (x *Exchange) stream(payload []byte) (wire.Report, error) {
	defer x.serverTakes(x.s.now())

	to := &toClient{}
	if x.more || x.seq != 1 {
		to.splice = &wire.Splice{Tracker: &x.s.tracker, Shift: x.seq - 1, More: x.more}
	}
	if err := x.send(payload, to); err != nil {
		return wire.Report{}, err
	}

	for {
		wanted, err := x.s.await()
		if err != nil {
			return wire.Report{}, x.Fail(err)
		}
		if !wanted {
			break
		}
		if err := x.s.sendFile(x.seq - 1); err != nil {
			return wire.Report{}, x.Fail(err)
		}
	}

	x.s.setRoute(nil)
	if to.splice != nil {
		x.seq = to.splice.Last() + 1
	}

	x.code = to.report.Code
	x.open = x.more && !to.report.Failed()
	return to.report, nil
}

// collect sends a command and keeps the answer.
func (x *Exchange) collect(payload []byte, to *toBuffer) ([]byte, wire.Report, error) {
	if err := x.send(payload, to); err != nil {
		return nil, wire.Report{}, err
	}

	for {
		wanted, err := x.s.await()
		if err != nil {
			return nil, wire.Report{}, x.Fail(err)
		}
		if !wanted {
			break
		}
		if err := x.s.refuseFile(); err != nil {
			return nil, wire.Report{}, x.Fail(err)
		}
	}

	x.s.setRoute(nil)
	if to.overflow {
		return nil, to.report, ErrAnswerTooLong
	}

	return to.b, to.report, nil
}

// ErrAnswerTooLong says that the server has carried out a command, and what it answered is lost.
var ErrAnswerTooLong = errors.New("the server's answer is too long to be looked at")

// Watch checks whether the client is still there while an answer takes long. Its error ends the
// session.
func (x *Exchange) Watch() error {
	if err := x.s.fromClient.poll(); err != nil {
		return x.Fail(errClientGone)
	}
	return nil
}

// send begins a command whose answer goes to the given route.
func (x *Exchange) send(payload []byte, to route) error {
	if x.broken != nil {
		return x.broken
	}
	x.s.setRoute(to)
	x.s.expect(wire.Command(payload[0]), payload)
	b, _ := wire.AppendPacket(nil, 0, payload)
	if err := x.s.write(x.s.backend, b); err != nil {
		return x.Fail(err)
	}
	return nil
}

// serverTakes counts the time since then as the server's.
func (x *Exchange) serverTakes(since int64) { x.servers += x.s.now() - since }

// Ours says that the command is a statement of ours, so that the time it takes does not count as a
// delay.
func (x *Exchange) Ours() { x.ours = true }

// count counts the command, which has been answered: once, whatever was sent to the server for it.
func (x *Exchange) count() {
	m, took := x.s.server.metrics, x.s.now()-x.begun
	m.command(wire.Report{Command: x.Command, Code: x.code}, took)
	if !x.ours {
		m.heldBack(took - x.servers)
	}
}

// Fail says that the session is over.
func (x *Exchange) Fail(err error) error {
	x.broken = err
	return err
}
