package proxy

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

const (
	auto = wire.Autocommit
	more = wire.Autocommit | wire.MoreResults
)

func TestHandlerAsksAndForwards(t *testing.T) {
	t.Parallel()
	relay(t, func(_ context.Context, x *Exchange) error {
		if x.ConnectionID() != 7 || string(x.Text()) != "ours 1" {
			return fmt.Errorf("got connection %d, text %q", x.ConnectionID(), x.Text())
		}

		r, err := x.Ask("SELECT 'schema'")
		if err != nil {
			return err
		}
		if _, err := x.Ask("refused"); err == nil {
			return errors.New("want the server's error")
		}

		report, err := x.Forward("theirs " + string(r.Rows[0][0]))
		if err == nil && (report.Failed() || report.Status != auto|wire.InTransaction) {
			return fmt.Errorf("got report %+v", report)
		}

		return err
	}, 0, wiretest.Script{
		query("ours 1"), wiretest.Expect(1, okPacket(auto|wire.InTransaction)),
		query("SELECT 1"), wiretest.ExpectBytes(rowsOf(t, 1, wire.TextRows, auto, "x")),
	}, wiretest.Script{
		expectQuery("SELECT 'schema'"), wiretest.SendBytes(rowsOf(t, 1, wire.TextRows, auto, "shop")),
		expectQuery("refused"), wiretest.Send(1, errPacket(1142, "denied")),
		expectQuery("theirs shop"), wiretest.Send(1, okPacket(auto|wire.InTransaction)),
		expectQuery("SELECT 1"), wiretest.SendBytes(rowsOf(t, 1, wire.TextRows, auto, "x")),
	})
}

func TestHandlerAnswersItself(t *testing.T) {
	t.Parallel()
	n := 0
	relay(t, func(_ context.Context, x *Exchange) error {
		n++
		switch n {
		case 1:
			return x.Rows(&wire.ResultSet{Columns: []wire.Column{wire.Text("c", 100)}, Rows: [][]any{{"a"}, {nil}}}, 0)
		case 2:
			return x.OK(wire.OK{Affected: 3})
		case 3:
			return &wire.Error{Code: 8148, State: "42000", Message: "no"}
		case 4:
			return errors.New("the catalog cannot be reached")
		default:
			return nil
		}
	}, 0, wiretest.Script{
		query("ours"), wiretest.ExpectBytes(rowsOf(t, 1, wire.TextRows, auto, "a", nil)),
		query("ours"), wiretest.Expect(1, wire.OK{Affected: 3, Status: auto}.Append(nil)),
		query("ours"), wiretest.Expect(1, (&wire.Error{Code: 8148, State: "42000", Message: "no"}).Append(nil)),
		query("ours"), wiretest.Expect(1, errPacket(1105, "ttlproxy: the catalog cannot be reached")),
		query("ours"), wiretest.Expect(1, errPacket(1105, "ttlproxy: the statement was left without an answer")),
		query("SELECT 1"), wiretest.Expect(1, okPacket(auto)),
	}, wiretest.Script{
		// The server's status is what our answers repeat; here it has said nothing but its OK at
		// login.
		expectQuery("SELECT 1"), wiretest.Send(1, okPacket(auto)),
	})
}

func TestHandlerAmendsAnswers(t *testing.T) {
	t.Parallel()
	n := 0
	relay(t, func(_ context.Context, x *Exchange) error {
		h, err := x.HoldSame()
		if err != nil {
			return err
		}

		n++
		switch n {
		case 1:
			r, err := h.Result()
			if err != nil || string(r.Rows[0][0]) != "CREATE TABLE" {
				return fmt.Errorf("got %v, %w", r, err)
			}
			return x.SendRows(h, func(row [][]byte) [][]byte { return [][]byte{append(row[0], " TTL"...)} })
		case 2:
			return x.SendOK(h, func(o *wire.OK) { o.Warnings = 2 })
		case 3:
			return x.SendOK(h, func(o *wire.OK) { o.Warnings = 2 })
		default:
			return x.Send(h)
		}
	}, 0, wiretest.Script{
		query("ours"), wiretest.ExpectBytes(rowsOf(t, 1, wire.TextRows, auto, "CREATE TABLE TTL")),
		query("ours"), wiretest.Expect(1, wire.OK{Status: auto, Warnings: 2}.Append(nil)),
		query("ours"), wiretest.Expect(1, errPacket(1050, "exists")),
		query("ours"), wiretest.ExpectBytes(rowsOf(t, 1, wire.TextRows, auto, "x")),
	}, wiretest.Script{
		expectQuery("ours"), wiretest.SendBytes(rowsOf(t, 1, wire.TextRows, auto, "CREATE TABLE")),
		expectQuery("ours"), wiretest.Send(1, okPacket(auto)),
		expectQuery("ours"), wiretest.Send(1, errPacket(1050, "exists")),
		expectQuery("ours"), wiretest.SendBytes(rowsOf(t, 1, wire.TextRows, auto, "x")),
	})
}

// Pitfall 7: the parts of a multi-statement packet are run one by one and answered as one.
func TestMultiStatementPacketIsAnsweredAsOne(t *testing.T) {
	t.Parallel()
	relay(t, func(_ context.Context, x *Exchange) error {
		x.More(true)
		if _, err := x.Forward("SELECT 1"); err != nil {
			return err
		}
		if err := x.OK(wire.OK{Affected: 9}); err != nil {
			return err
		}
		if err := x.Rows(&wire.ResultSet{Columns: []wire.Column{wire.Text("c", 100)}, Rows: [][]any{{"ours"}}},
			0); err != nil {
			return err
		}

		h, err := x.Hold("held")
		if err != nil {
			return err
		}
		if err := x.Send(h); err != nil {
			return err
		}

		x.More(false)
		_, err = x.Forward("INSERT")
		return err
	}, 0, wiretest.Script{
		query("ours"),
		wiretest.ExpectBytes(rowsOf(t, 1, wire.TextRows, more, "x")), // 1 to 5
		wiretest.Expect(6, wire.OK{Affected: 9, Status: more}.Append(nil)),
		wiretest.ExpectBytes(rowsOf(t, 7, wire.TextRows, more, "ours")), // 7 to 11
		wiretest.Expect(12, okPacket(more)),
		wiretest.Expect(13, okPacket(auto)),
		query("SELECT 2"), wiretest.Expect(1, okPacket(auto)),
	}, wiretest.Script{
		expectQuery("SELECT 1"), wiretest.SendBytes(rowsOf(t, 1, wire.TextRows, auto, "x")),
		expectQuery("held"), wiretest.Send(1, okPacket(auto)),
		expectQuery("INSERT"), wiretest.Send(1, okPacket(auto)),
		expectQuery("SELECT 2"), wiretest.Send(1, okPacket(auto)),
	})
}

// Pitfall 7: an error in one part ends everything.
func TestErrorEndsMultiStatementPacket(t *testing.T) {
	t.Parallel()
	relay(t, func(_ context.Context, x *Exchange) error {
		x.More(true)
		if _, err := x.Forward("first"); err != nil {
			return err
		}

		r, err := x.Forward("second")
		if err == nil && !r.Failed() {
			return errors.New("want a failure")
		}

		return err
	}, 0, wiretest.Script{
		query("ours"), wiretest.Expect(1, okPacket(more)), wiretest.Expect(2, errPacket(1064, "syntax")),
		query("SELECT 2"), wiretest.Expect(1, okPacket(auto)),
	}, wiretest.Script{
		expectQuery("first"), wiretest.Send(1, okPacket(auto)),
		expectQuery("second"), wiretest.Send(1, errPacket(1064, "syntax")),
		expectQuery("SELECT 2"), wiretest.Send(1, okPacket(auto)),
	})
}

// Pitfall 30: a part may want files, more than one, and numbers differ between the two sides.
func TestFilesInsideMultiStatementPacket(t *testing.T) {
	t.Parallel()
	relay(t, func(_ context.Context, x *Exchange) error {
		x.More(true)
		if _, err := x.Forward("first"); err != nil {
			return err
		}
		x.More(false)
		_, err := x.Forward("LOAD DATA LOCAL; LOAD DATA LOCAL")
		return err
	}, 0, wiretest.Script{
		query("ours"), wiretest.Expect(1, okPacket(more)),
		wiretest.Expect(2, []byte("\xFBa.csv")),
		wiretest.Send(3, []byte("ours 1")), wiretest.Send(4, []byte("ours 2")), wiretest.Send(5, nil),
		wiretest.Expect(6, okPacket(more)),
		wiretest.Expect(7, []byte("\xFBb.csv")), wiretest.Send(8, nil),
		wiretest.Expect(9, okPacket(auto)),
		query("SELECT 2"), wiretest.Expect(1, okPacket(auto)),
	}, wiretest.Script{
		expectQuery("first"), wiretest.Send(1, okPacket(auto)),
		expectQuery("LOAD DATA LOCAL; LOAD DATA LOCAL"), wiretest.Send(1, []byte("\xFBa.csv")),
		wiretest.Expect(2, []byte("ours 1")), wiretest.Expect(3, []byte("ours 2")), wiretest.Expect(4, nil),
		wiretest.Send(5, okPacket(more)),
		wiretest.Send(6, []byte("\xFBb.csv")), wiretest.Expect(7, nil),
		wiretest.Send(8, okPacket(auto)),
		expectQuery("SELECT 2"), wiretest.Send(1, okPacket(auto)),
	})
}

// memo is a memo that says nothing.
type memo string

func (memo) Size() int64          { return 0 }
func (memo) ByName() bool         { return false }
func (memo) Parameterised() error { return nil }

// Pitfall 8: EXECUTE may name the statement prepared last instead of its id.
func TestPreparedStatementsOfOurs(t *testing.T) {
	t.Parallel()
	const id = "\x07\x00\x00\x00"
	last := "\xff\xff\xff\xff"
	prepared := append([]byte{0}, id+"\x00\x00\x00\x00\x00\x00\x00"...)
	relay(t, func(_ context.Context, x *Exchange) error {
		if x.Command == wire.Prepare {
			_, err := x.Prepare("theirs", memo("ours"))
			return err
		}
		if x.Memo() != memo("ours") {
			return fmt.Errorf("got memo %v", x.Memo())
		}

		return x.Rows(&wire.ResultSet{Columns: []wire.Column{wire.Text("c", 100)}, Rows: [][]any{{"ours"}}}, 0)
	}, 0, wiretest.Script{
		// Pipelined: the answers come in order.
		wiretest.Send(0, command(wire.Prepare, "ours")),
		wiretest.Send(0, command(wire.Execute, last+"\x00\x01\x00\x00\x00")),
		wiretest.Expect(1, prepared), wiretest.ExpectBytes(rowsOf(t, 1, wire.BinaryRows, auto, "ours")),
		wiretest.Send(0, command(wire.Execute, id+"\x00\x01\x00\x00\x00")),
		wiretest.ExpectBytes(rowsOf(t, 1, wire.BinaryRows, auto, "ours")),
		// Another statement prepared last takes the name.
		wiretest.Send(0, command(wire.Prepare, "SELECT 1")), wiretest.Expect(1, errPacket(1064, "no")),
		wiretest.Send(0, command(wire.Execute, last)), wiretest.Expect(1, errPacket(1243, "unknown")),
		// A closed statement is forgotten, and its id free.
		wiretest.Send(0, command(wire.CloseStatement, id)), wiretest.Send(0, command(wire.Execute, id)),
		wiretest.Expect(1, okPacket(auto)), // So is everything after a reset (pitfall 24).
		wiretest.Send(0, command(wire.Prepare, "ours")), wiretest.Expect(1, prepared),
		wiretest.Send(0, command(wire.ResetConnection, "")), wiretest.Expect(1, okPacket(auto)),
		wiretest.Send(0, command(wire.Execute, id)), wiretest.Expect(1, errPacket(1243, "unknown")),
	}, wiretest.Script{
		wiretest.Expect(0, command(wire.Prepare, "theirs")), wiretest.Send(1, prepared),
		wiretest.Expect(0, command(wire.Prepare, "SELECT 1")), wiretest.Send(1, errPacket(1064, "no")),
		wiretest.Expect(0, command(wire.Execute, last)), wiretest.Send(1, errPacket(1243, "unknown")),
		wiretest.Expect(0, command(wire.CloseStatement, id)),
		wiretest.Expect(0, command(wire.Execute, id)), wiretest.Send(1, okPacket(auto)),
		wiretest.Expect(0, command(wire.Prepare, "theirs")), wiretest.Send(1, prepared),
		wiretest.Expect(0, command(wire.ResetConnection, "")), wiretest.Send(1, okPacket(auto)),
		wiretest.Expect(0, command(wire.Execute, id)), wiretest.Send(1, errPacket(1243, "unknown")),
	})
}

// Pitfall 27: query attributes stay in front of the text that replaces another.
func TestForwardKeepsQueryAttributes(t *testing.T) {
	t.Parallel()
	attributes := "\x01\x01\x00\x01\xFE\x00\x01n\x02hi"
	relay(t, func(_ context.Context, x *Exchange) error {
		if _, err := x.Ask("asked"); err != nil {
			return err
		}
		_, err := x.Forward("theirs")
		return err
	}, wire.QueryAttributes, wiretest.Script{
		query(attributes + "ours"), wiretest.Expect(1, okPacket(auto)),
	}, wiretest.Script{
		expectQuery("\x00\x01asked"), wiretest.Send(1, okPacket(auto)),
		expectQuery(attributes + "theirs"), wiretest.Send(1, okPacket(auto)),
	})
}

func TestNotesLastForOneStatement(t *testing.T) {
	t.Parallel()
	var seen []int
	relay(t, func(_ context.Context, x *Exchange) error {
		seen = append(seen, len(x.Notes()))
		if len(x.Notes()) == 0 {
			x.Leave(Note{Level: "Note", Code: 1, Message: "m"})
		}
		return x.OK(wire.OK{})
	}, 0, wiretest.Script{
		query("ours"), wiretest.Expect(1, okPacket(auto)),
		query("ours"), wiretest.Expect(1, okPacket(auto)),
		query("ours"), wiretest.Expect(1, okPacket(auto)),
		query("theirs"), wiretest.Expect(1, okPacket(auto)),
		query("ours"), wiretest.Expect(1, okPacket(auto)),
		wiretest.Send(0, command(wire.Ping, "")), wiretest.Expect(1, okPacket(auto)),
		wiretest.Send(0, command(wire.CloseStatement, "\x01\x00\x00\x00")), // neither is a statement
		query("ours"), wiretest.Expect(1, okPacket(auto)),
	}, wiretest.Script{
		expectQuery("theirs"), wiretest.Send(1, okPacket(auto)),
		wiretest.Expect(0, command(wire.Ping, "")), wiretest.Send(1, okPacket(auto)),
		wiretest.Expect(0, command(wire.CloseStatement, "\x01\x00\x00\x00")),
	})

	if got := fmt.Sprint(seen); got != "[0 1 0 0 1]" {
		t.Errorf("got %s notes, want [0 1 0 0 1]", got)
	}
}

func TestMultiStatementsCanBeSwitched(t *testing.T) {
	t.Parallel()
	eof := []byte{0xFE, 0, 0, 2, 0}
	var seen []bool
	relay(t, func(_ context.Context, x *Exchange) error {
		seen = append(seen, x.MultiStatements())
		return x.OK(wire.OK{})
	}, 0, wiretest.Script{
		query("ours"), wiretest.Expect(1, okPacket(auto)),
		wiretest.Send(0, command(wire.SetOption, "\x01\x00")), wiretest.Expect(1, eof),
		query("ours"), wiretest.Expect(1, okPacket(auto)),
		wiretest.Send(0, command(wire.SetOption, "\x00\x00")), wiretest.Expect(1, eof),
		query("ours"), wiretest.Expect(1, okPacket(auto)),
	}, wiretest.Script{
		wiretest.Expect(0, command(wire.SetOption, "\x01\x00")), wiretest.Send(1, eof),
		wiretest.Expect(0, command(wire.SetOption, "\x00\x00")), wiretest.Send(1, eof),
	})

	if got := fmt.Sprint(seen); got != "[true false true]" {
		t.Errorf("got %s, want [true false true]", got)
	}
}

// A binary row begins as an OK does, and is none.
func TestRowsBehindANoteStayAsTheyAre(t *testing.T) {
	t.Parallel()
	rows := rowsOf(t, 1, wire.BinaryRows, auto, "optimized")
	relay(t, func(_ context.Context, x *Exchange) error {
		h, err := x.HoldSame()
		if err != nil {
			return err
		}
		return x.SendOK(h, func(o *wire.OK) { o.Warnings = 2 })
	}, 0, wiretest.Script{
		query("ours"), wiretest.ExpectBytes(rows),
	}, wiretest.Script{
		expectQuery("ours"), wiretest.SendBytes(rows),
	})
}

// Pitfall 2: what MariaDB says about the progress of a statement that is held comes at once, and
// the answer behind it goes on counting.
func TestProgressOfAHeldStatement(t *testing.T) {
	t.Parallel()
	report := func(percent byte) []byte {
		return []byte{0xFF, 0xFF, 0xFF, 1, 1, 2, percent, 0, 0, 4, 'c', 'o', 'p', 'y'}
	}
	seen := make(chan struct{})
	relay(t, func(_ context.Context, x *Exchange) error {
		if _, err := x.Ask("question"); err != nil {
			return err
		}

		h, err := x.HoldSame()
		if err != nil {
			return err
		}

		return x.SendOK(h, func(o *wire.OK) { o.Warnings = 2 })
	}, wire.Progress, wiretest.Script{
		query("ours"), wiretest.Expect(1, report(10)), wiretest.Expect(2, report(50)),
		wiretest.Receive(func(payload []byte, seq byte) error {
			if string(payload) != string(report(90)) || seq != 3 {
				t.Errorf("got %d %q", seq, payload)
			}
			close(seen)
			return nil
		}),
		wiretest.Expect(4, wire.OK{Status: auto, Warnings: 2}.Append(nil)),
		query("SELECT 1"), wiretest.Expect(1, okPacket(auto)),
	}, wiretest.Script{
		expectQuery("question"), wiretest.Send(1, report(20)), wiretest.Send(2, okPacket(auto)),
		expectQuery("ours"), wiretest.Send(1, report(10)), wiretest.Send(2, report(50)), wiretest.Send(3, report(90)),
		wiretest.Do(func() { <-seen }), wiretest.Send(4, okPacket(auto)),
		expectQuery("SELECT 1"), wiretest.Send(1, okPacket(auto)),
	})
}
