package statement

import (
	"slices"
	"strconv"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// asksForWarnings reports whether a packet is SHOW WARNINGS or SHOW ERRORS alone. Nothing may be asked
// in the session before it: the answer would be about that query.
func asksForWarnings(text string) bool { return warningsIn(text) != nil }

func warningsIn(text string) *ddl.ShowWarnings {
	parts := ddl.Parse(text, ddl.Mode{})
	if len(parts) != 1 {
		return nil
	}
	s, _ := parts[0].Action.(*ddl.ShowWarnings)
	return s
}

// warnings answers SHOW WARNINGS, or prepares it.
func warnings(x *proxy.Exchange, text string) error {
	if x.Command == wire.Prepare {
		x.KeepNotes()
		_, err := x.Prepare(text, warningsMemo(text))
		return err
	}
	return showWarnings(x, text)
}

// warningsMemo is a prepared SHOW WARNINGS.
type warningsMemo string

// Size is about how many bytes of memory it takes.
func (m warningsMemo) Size() int64 { return int64(len(m)) }

// ByName says that no name is needed: it is never prepared under one.
func (m warningsMemo) ByName() bool { return false }

// Parameterised lets the server refuse parameters.
func (m warningsMemo) Parameterised() error { return nil }

// showWarnings answers SHOW WARNINGS after a statement about which we have something to say. The
// server's own come first.
func showWarnings(x *proxy.Exchange, text string) error {
	notes := x.Notes()
	if len(notes) == 0 && !x.NotesAlone() {
		_, err := x.Pass()
		return err
	}

	x.KeepNotes()
	r, err := x.Ask(text)
	if err != nil {
		return err
	}
	if x.NotesAlone() {
		r.Rows = nil
	}

	if s := warningsIn(text); s != nil && s.Errors {
		notes = slices.DeleteFunc(slices.Clone(notes), func(n proxy.Note) bool { return n.Level != "Error" })
	}
	return sendWithRows(x, r, noteRows(notes))
}

func noteRows(notes []proxy.Note) [][]any {
	rows := make([][]any, len(notes))
	for i, n := range notes {
		rows[i] = []any{n.Level, strconv.Itoa(int(n.Code)), n.Message}
	}
	return rows
}

// sendWithRows answers with a result set of the server and further rows after it.
func sendWithRows(x *proxy.Exchange, r *wire.Result, more [][]any) error {
	rows := make([][]any, 0, len(r.Rows)+len(more))
	for _, row := range r.Rows {
		rows = append(rows, values(row))
	}
	return x.Rows(&wire.ResultSet{Columns: r.Columns, Rows: append(rows, more...)}, 0)
}

// values are the values of a row, in which nil stays NULL.
func values(row [][]byte) []any {
	list := make([]any, len(row))
	for i, v := range row {
		if v != nil {
			list[i] = string(v)
		}
	}
	return list
}
