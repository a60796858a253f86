package proxy

import (
	"cmp"
	"errors"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// Held is an answer of the server which the client has not seen.
type Held struct {
	wire.Report
	packets []byte
	x       *Exchange
}

// Hold sends the held command with another text and keeps the answer, to be sent with Send,
// read with Result or replaced by another.
func (x *Exchange) Hold(sql string) (*Held, error) { return x.hold(x.rewrite(sql)) }

// HoldSame is Hold with the command as it came.
func (x *Exchange) HoldSame() (*Held, error) { return x.hold(x.payload) }

// HoldQuery is Hold with a statement of ours, whose answer may become the client's.
func (x *Exchange) HoldQuery(sql string) (*Held, error) { return x.hold(x.query(sql)) }

func (x *Exchange) hold(payload []byte) (*Held, error) {
	defer x.serverTakes(x.s.now())
	b, r, err := x.collect(payload, &toBuffer{client: x})
	if err != nil {
		return nil, err
	}
	return &Held{Report: r, packets: b, x: x}, nil
}

// Result reads the answer: one result set of strings, or an OK. An ERR is returned as *wire.Error.
func (h *Held) Result() (*wire.Result, error) {
	form := wire.TextRows
	if h.x.Command == wire.Execute {
		form = wire.BinaryRows
	}
	return wire.DecodeResult(h.packets, form, h.x.s.login.capabilities)
}

// Send answers with a held answer.
func (x *Exchange) Send(h *Held) error {
	x.code = h.Code
	if h.Failed() {
		x.more = false
	}
	return x.renumber(h.packets, func(payload []byte) []byte { return payload })
}

// SendRows answers with a held result set after passing every row to change, which returns the row
// to send. The definitions and the end stay the server's.
func (x *Exchange) SendRows(h *Held, change func(row [][]byte) [][]byte) error {
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

// SendWith answers with a held result set of text to which more rows, as packets, have been added.
func (x *Exchange) SendWith(h *Held, rows []byte) error {
	if h.Failed() {
		return x.Send(h)
	}
	b, err := wire.InsertRows(h.packets, x.s.login.capabilities, rows)
	if err != nil {
		return err
	}
	return x.renumber(b, func(payload []byte) []byte { return payload })
}

// SendOK answers with a held OK that change may have altered. What the server says about its
// session stays.
func (x *Exchange) SendOK(h *Held, change func(*wire.OK)) error {
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
func (x *Exchange) renumber(packets []byte, change func([]byte) []byte) error {
	out := make([]byte, 0, len(packets))
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

// naming is how PREPARE name FROM changes Prepare.
type naming struct {
	name string
	mode ddl.Mode
}

// Naming makes Prepare, while do runs, prepare under a name, as PREPARE name FROM does.
func (x *Exchange) Naming(name string, mode ddl.Mode, do func() error) error {
	x.naming = &naming{name: name, mode: mode}
	defer func() { x.naming = nil }()
	return do()
}

// Preparing reports whether the held command prepares a statement: COM_STMT_PREPARE, or PREPARE
// name FROM.
func (x *Exchange) Preparing() bool { return x.Command == wire.Prepare || x.naming != nil }

// Prepare prepares another text in place of the held one. When the server has accepted it, memo is
// what Memo returns at each EXECUTE until the client closes the statement; without one the
// statement belongs to the server alone.
func (x *Exchange) Prepare(sql string, memo Memo) (wire.Report, error) {
	if memo != nil {
		if err := x.s.memory.room(memo.Size()); err != nil {
			return wire.Report{}, err
		}
	}
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

// prepareName is Prepare for PREPARE name FROM: under the name the server is given our mark. The
// text itself is prepared last, so that warnings and errors are those of the text.
func (x *Exchange) prepareName(sql string, memo Memo) (wire.Report, error) {
	if memo == nil {
		h, err := x.prepareTheirs(sql)
		if err != nil {
			return wire.Report{}, err
		}
		return h.Report, x.Send(h)
	}

	m := &x.s.memory.named
	m.last++
	n := &Named{Memo: memo, number: m.last, name: x.naming.name}
	if memo.ByName() {
		return x.prepareOwn(n, sql)
	}

	h, err := x.Hold(x.naming.prepare(n.name, "'"+n.mark(0)+"'"))
	if err != nil {
		return wire.Report{}, err
	}
	if h.Failed() {
		return h.Report, x.Send(h)
	}

	p, err := x.prepareText(sql)
	if _, refused := errors.AsType[*wire.Error](err); refused || err == nil && p.Parameters > 0 {
		return x.prepareInstead(n, sql, p)
	}
	if err != nil {
		return wire.Report{}, err
	}

	n.held = p.ID
	x.remember(n)
	return h.Report, x.SendOK(h, func(o *wire.OK) { o.Warnings = p.Warnings })
}

// prepareOwn prepares the statement that answers an admin statement, under a name of our own. It
// has the parameters that the mark needs, too.
func (x *Exchange) prepareOwn(n *Named, sql string) (wire.Report, error) {
	p, err := x.prepareText(sql)
	if _, refused := errors.AsType[*wire.Error](err); refused {
		return x.prepareInstead(n, sql, p)
	}
	if err == nil {
		err = x.closePrepared(p.ID)
	}
	if err == nil {
		err = x.setText(sql)
	}
	if err == nil {
		_, err = x.Ask(x.naming.prepare(n.Own(), textVariable))
	}
	if err != nil {
		return wire.Report{}, err
	}

	h, err := x.Hold(x.naming.prepare(n.name, "'"+n.mark(p.Parameters)+"'"))
	if err != nil {
		return wire.Report{}, err
	}
	if !h.Failed() {
		x.remember(n)
	}

	return h.Report, x.Send(h)
}

// prepareInstead prepares the text under the client's name: the server refuses it and says why, or
// it has parameters. Then it belongs to the server alone, and a policy that it would declare is
// refused.
func (x *Exchange) prepareInstead(n *Named, sql string, p wire.Prepared) (wire.Report, error) {
	if p.ID != 0 {
		if err := x.closePrepared(p.ID); err != nil {
			return wire.Report{}, err
		}
	}

	if why := n.Memo.Parameterised(); why != nil && p.Parameters > 0 {
		return wire.Report{}, cmp.Or(x.unname(n.name), why)
	}

	h, err := x.prepareTheirs(sql)
	if err != nil {
		return wire.Report{}, err
	}

	if !h.Failed() && p.Parameters == 0 {
		if err := x.unname(n.name); err != nil {
			return wire.Report{}, err
		}
		return wire.Report{}, &wire.Error{
			Code: ddl.CodeUnknownError, State: "HY000",
			Message: "the server took the statement only when it was asked again: prepare it once more",
		}
	}

	return h.Report, x.Send(h)
}

// prepareTheirs prepares the text under the client's name, as the client has asked for.
func (x *Exchange) prepareTheirs(sql string) (*Held, error) {
	if err := x.setText(sql); err != nil {
		return nil, err
	}
	return x.Hold(x.naming.prepare(x.naming.name, textVariable))
}

// textVariable carries a text to PREPARE: MySQL reads a literal in another character set than the
// client's.
const textVariable = "@`ttlproxy text`"

func (x *Exchange) setText(sql string) error {
	_, err := x.Ask("SET " + textVariable + " = " + x.naming.mode.Literal(sql))
	return err
}

// unname frees a name, whatever has it.
func (x *Exchange) unname(name string) error {
	_, err := x.Ask("DEALLOCATE PREPARE " + ddl.Encode(ddl.Quote(name), x.naming.mode.Charset))
	if _, refused := errors.AsType[*wire.Error](err); refused {
		return nil // nothing had it
	}
	return err
}

// prepare writes PREPARE name FROM text.
func (n *naming) prepare(name, text string) string {
	return "PREPARE " + ddl.Encode(ddl.Quote(name), n.mode.Charset) + " FROM " + text
}
