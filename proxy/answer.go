package proxy

import (
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// OK answers with success. The status is the session's own, whatever o says.
func (x *Exchange) OK(o wire.OK) error {
	o.Status = x.ourStatus()
	return x.reply(o.Append(nil))
}

// Err answers with an error, which ends the answer even if more was promised, and is what SHOW WARNINGS shows.
func (x *Exchange) Err(e *wire.Error) error {
	x.more, x.code = false, e.Code
	x.LeaveOnly(Note{Level: "Error", Code: e.Code, Message: e.Message})
	return x.reply(e.Append(nil))
}

// Rows answers with a result set, in the form that the command asks for.
func (x *Exchange) Rows(r *wire.ResultSet, warnings int) error {
	form := wire.TextRows
	if x.Command == wire.Execute || x.Command == wire.BulkExecute {
		form = wire.BinaryRows
	}
	end := wire.OK{Status: x.ourStatus(), Warnings: uint16(min(warnings, 1<<16-1))}
	b, seq, err := r.Append(nil, x.seq, form, x.s.login.capabilities, end)
	if err != nil {
		return err // nothing has been sent, so this becomes the answer
	}
	x.seq = seq
	return x.answer(b)
}

// ourStatus is what an answer of ours says about the session: what the server said last, and
// whether more follows.
func (x *Exchange) ourStatus() wire.Status {
	s := x.s.status() &^ (wire.MoreResults | wire.CursorExists | wire.LastRowSent | wire.OutParameters |
		wire.SessionStateChanged)
	if x.more {
		s |= wire.MoreResults
	}
	return s
}

func (x *Exchange) reply(payload []byte) error {
	var b []byte
	b, x.seq = wire.AppendPacket(nil, x.seq, payload)
	return x.answer(b)
}

func (x *Exchange) answer(b []byte) error {
	x.open = x.more
	if err := x.s.write(x.s.client, b); err != nil {
		return x.Fail(err)
	}
	return nil
}

// Notes are what the handler left for SHOW WARNINGS about the statement before this one.
func (x *Exchange) Notes() []Note { return x.notes }

// TakeNotes makes the notes that the previous statement left those of this one.
func (x *Exchange) TakeNotes() { x.remarks, x.s.memory.remarks = x.s.memory.remarks, remarks{} }

// KeepNotes keeps the notes for another SHOW WARNINGS.
func (x *Exchange) KeepNotes() { x.s.memory.remarks = x.remarks }

// NotesAlone reports whether the notes are about a statement in which the server had no part, so
// that the server's own warnings are about an earlier one.
func (x *Exchange) NotesAlone() bool { return x.alone }

// Leave leaves notes for SHOW WARNINGS. They last, as the server's warnings do, until the next statement
// that is not held back, or that is not given them again.
func (x *Exchange) Leave(notes ...Note) { x.s.memory.remarks = remarks{notes: notes} }

// LeaveOnly is Leave after an answer in which the server had no part: its own warnings are about an
// earlier statement.
func (x *Exchange) LeaveOnly(notes ...Note) { x.s.memory.remarks = remarks{notes, true} }
