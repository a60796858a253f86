package proxy

import (
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// held is an answer of the server which the client has not seen.
type held struct {
	wire.Report
	packets []byte
	x       *exchange
}

// Hold sends the held command with another text and keeps the answer, to be sent with Send,
// read with Result or replaced by another.
func (x *exchange) Hold(sql string) (*held, error) { return x.hold(x.rewrite(sql)) }

// HoldSame is Hold with the command as it came.
func (x *exchange) HoldSame() (*held, error) { return x.hold(x.payload) }

func (x *exchange) hold(payload []byte) (*held, error) {
	defer x.serverTakes(x.s.now())
	b, r, err := x.collect(payload, &toBuffer{client: x})
	if err != nil {
		return nil, err
	}
	return &held{Report: r, packets: b, x: x}, nil
}

// Result reads the answer: one result set of strings, or an OK. An ERR is returned as *wire.Error.
func (h *held) Result() (*wire.Result, error) {
	form := wire.TextRows
	if h.x.Command == wire.Execute {
		form = wire.BinaryRows
	}
	return wire.DecodeResult(h.packets, form, h.x.s.login.capabilities)
}

// Send answers with a held answer.
func (x *exchange) Send(h *held) error {
	x.code = h.Code
	if h.Failed() {
		x.more = false
	}
	return x.renumber(h.packets, func(payload []byte) []byte { return payload })
}

// SendRows answers with a held result set in which every row was given to change, which returns the row to send.
// The definitions and the end stay the server's.
func (x *exchange) SendRows(h *held, change func(row [][]byte) [][]byte) error {
	form := wire.TextRows
	if x.Command == wire.Execute {
		form = wire.BinaryRows
	}
	b, err := wire.ChangeRows(h.packets, form, x.s.login.capabilities, change)
	if err != nil {
		return err
	}
	return x.renumber(b, func(payload []byte) []byte { return payload })
}

// SendOK answers with a held OK which change may have changed. What the server says about its session stays.
func (x *exchange) SendOK(h *held, change func(*wire.OK)) error {
	if h.Failed() {
		return x.Send(h)
	}
	caps := x.s.login.capabilities
	_, rest, _ := wire.NextPacket(h.packets)
	return x.renumber(h.packets, func(payload []byte) []byte {
		if len(rest) > 0 {
			return payload // a result set: a binary row begins as an OK does
		}
		return wire.ChangeOK(payload, caps, change)
	})
}

// renumber sends packets of the server as our answer.
func (x *exchange) renumber(packets []byte, change func([]byte) []byte) error {
	var out []byte
	for len(packets) > 0 {
		payload, rest, err := wire.NextPacket(packets)
		if err != nil {
			return err
		}
		packets = rest
		payload = change(payload)
		if x.more && (len(rest) == 0 || wire.IsEOF(payload)) {
			payload = wire.PromiseMore(payload)
		}
		out, x.seq = wire.AppendPacket(out, x.seq, payload)
	}
	return x.answer(out)
}

// naming is what PREPARE name FROM makes of Prepare.
type naming struct {
	name string
	mode ddl.Mode
}

// Preparing reports whether the held command prepares a statement: COM_STMT_PREPARE, or PREPARE name FROM.
func (x *exchange) Preparing() bool { return x.Command == wire.Prepare || x.naming != nil }

// Prepare prepares another text in place of the held one. When the server has accepted it, memo is what Memo
// returns at each EXECUTE until the client closes the statement. Under a name, Recall returns it.
func (x *exchange) Prepare(sql string, memo any) (wire.Report, error) {
	if x.naming != nil {
		return x.prepareName(sql, memo)
	}
	h, err := x.Hold(sql)
	if err != nil {
		return wire.Report{}, err
	}
	if payload, _, err := wire.NextPacket(h.packets); err == nil {
		if id, ok := wire.PreparedID(payload); ok {
			x.s.memory.prepared(id, memo)
		}
	}
	return h.Report, x.Send(h)
}

// prepareName is Prepare for PREPARE name FROM. The text goes through a variable: MySQL reads a literal in another character set than
// the client's.
func (x *exchange) prepareName(sql string, memo any) (wire.Report, error) {
	const text = "@`ttlproxy text`"
	n := x.naming
	if _, err := x.Ask("SET " + text + " = " + n.mode.Literal(sql)); err != nil {
		return wire.Report{}, err
	}
	h, err := x.Hold("PREPARE " + ddl.Encode(ddl.Quote(n.name), n.mode.Charset) + " FROM " + text)
	if err != nil {
		return wire.Report{}, err
	}
	if !h.Failed() {
		x.Remember(n.name, memo)
	}
	return h.Report, x.Send(h)
}
