package wire

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// everyForm are the capabilities that change the form of a result set, in all combinations.
func everyForm(t *testing.T, test func(t *testing.T, caps Capability)) {
	bits := []Capability{DeprecateEOF, SessionTrack, OptionalMetadata, CacheMetadata, ExtendedMetadata}
	for set := range 1 << len(bits) {
		var caps Capability
		for i, bit := range bits {
			if set&(1<<i) != 0 {
				caps |= bit
			}
		}
		t.Run(fmt.Sprintf("%#x", uint64(caps)), func(t *testing.T) { test(t, caps) })
	}
}

func TestResultSetIsReadBackAndTracked(t *testing.T) {
	t.Parallel()
	rs := ResultSet{
		Columns: []Column{Text("name", 64).NotNull(), LongText("text"), Text("nothing", 1)},
		Rows:    [][]any{{"a", "", nil}, {"b", []byte("c"), nil}},
	}
	everyForm(t, func(t *testing.T, caps Capability) {
		for form, command := range map[Form]Command{TextRows: Query, BinaryRows: Execute} {
			b, next, err := rs.Append(nil, 1, form, caps, OK{Status: Autocommit, Warnings: 2})
			if err != nil {
				t.Fatal(err)
			}
			if want := byte(1 + bytes.Count(b, []byte("def")) + 4); caps.Has(DeprecateEOF) && next != want {
				t.Errorf("got next number %d, want %d", next, want)
			}

			tr := Tracker{Capabilities: caps}
			tr.Begin(command, 0)
			if r := scanAll(&tr, b); len(r) != 1 || !tr.Idle() {
				t.Errorf("form %v: the tracker saw %v, idle %v", form, r, tr.Idle())
			}

			got, err := DecodeResult(b, form, caps)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Columns) != 3 || got.Columns[1] != rs.Columns[1] || got.OK.Warnings != 2 ||
				got.OK.Status != Autocommit {
				t.Errorf("form %v: got %+v", form, got)
			}
			if fmt.Sprintf("%q", got.Rows) != `[["a" "" ""] ["b" "c" ""]]` || got.Rows[0][2] != nil ||
				got.Rows[0][1] == nil {
				t.Errorf("form %v: got rows %q", form, got.Rows)
			}
		}
	})
}

func TestChangeRows(t *testing.T) {
	t.Parallel()
	rs := ResultSet{Columns: []Column{Text("a", 1), Text("b", 1)}, Rows: [][]any{{"x", nil}}}
	everyForm(t, func(t *testing.T, caps Capability) {
		for _, form := range []Form{TextRows, BinaryRows} {
			b, _, _ := rs.Append(nil, 1, form, caps, OK{Status: Autocommit})
			changed, err := ChangeRows(b, form, caps, func(row [][]byte) [][]byte {
				return [][]byte{nil, bytes.Repeat([]byte("long"), 5000)}
			})
			if err != nil {
				t.Fatal(err)
			}

			got, err := DecodeResult(changed, form, caps)
			if err != nil || len(got.Rows) != 1 || got.Rows[0][0] != nil || len(got.Rows[0][1]) != 20000 ||
				got.OK.Status != Autocommit {
				t.Errorf("form %v: got %v, %v", form, got, err)
			}
		}
	})
}

func TestValuesOfEachType(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 9, 8, 7, 123456000, time.UTC)
	for _, c := range []struct {
		column Column
		value  any
		text   string
		binary string
	}{
		{Integer("n"), -3, "-3", "\xfd\xff\xff\xff\xff\xff\xff\xff"},
		{Integer("n"), true, "1", "\x01\x00\x00\x00\x00\x00\x00\x00"},
		{Integer("n"), int64(5), "5", "\x05\x00\x00\x00\x00\x00\x00\x00"},
		{Float("f", 2), 1.5, "1.50", "\x00\x00\x00\x00\x00\x00\xf8\x3f"},
		{Datetime("d", 0), at, "2026-11-21 09:08:07", "\x0b\xea\x07\x0b\x15\x09\x08\x07\x40\xe2\x01\x00"},
		{Datetime("d", 3), at, "2026-11-21 09:08:07.123", "\x0b\xea\x07\x0b\x15\x09\x08\x07\x40\xe2\x01\x00"},
		{Datetime("d", 6), at, "2026-11-21 09:08:07.123456", "\x0b\xea\x07\x0b\x15\x09\x08\x07\x40\xe2\x01\x00"},
		{Text("s", 10), "é", "é", "\x02é"},
	} {
		text, err := appendText(nil, c.column, c.value)
		if want := AppendString(nil, c.text); err != nil || !bytes.Equal(text, want) {
			t.Errorf("%v as text: got %q, %v, want %q", c.value, text, err, want)
		}

		binary, err := appendBinary(nil, c.column, c.value)
		if err != nil || string(binary) != c.binary {
			t.Errorf("%v as binary: got %q, %v, want %q", c.value, binary, err, c.binary)
		}
	}
}

func TestResultSetRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	for _, rs := range []ResultSet{
		{Columns: []Column{Integer("n")}, Rows: [][]any{{1, 2}}},
		{Columns: []Column{Integer("n")}, Rows: [][]any{{struct{}{}}}},
		{Columns: []Column{Datetime("d", 0)}, Rows: [][]any{{"yesterday"}}},
	} {
		if _, _, err := rs.Append(nil, 1, BinaryRows, 0, OK{}); err == nil {
			t.Errorf("%v: got nil, want an error", rs.Rows)
		}
	}
}

func TestErrorsAreReadBack(t *testing.T) {
	t.Parallel()
	want := Error{Code: 8148, State: "HY000", Message: "no"}
	var got Error
	if err := got.Decode(want.Append(nil)); err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if err := got.Decode(want.AppendBare(nil)); err != nil || got != want {
		t.Errorf("without SQLSTATE: got %v, %v, want %v", got, err, want)
	}
	if _, err := DecodeResult(new(stream).at(1).err(1064).Bytes(), TextRows, 0); err == nil ||
		err.(*Error).Code != 1064 {
		t.Errorf("got %v, want the server's error", err)
	}
}

// What a server says about its session survives a changed OK.
func TestChangeOKKeepsTheSessionsState(t *testing.T) {
	t.Parallel()
	payload := OK{Affected: 1, Status: Autocommit}.Append(nil)
	payload = append(payload[:3], 0x02, 0x40, 0, 0)
	payload = AppendString(payload, "")
	payload = AppendString(payload, "\x01\x05\x04shop")
	got := ChangeOK(bytes.Clone(payload), SessionTrack, func(o *OK) { o.Warnings = 3 })
	want := bytes.Clone(payload)

	want[5] = 3
	if !bytes.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	withInfo := ChangeOK(bytes.Clone(payload), SessionTrack, func(o *OK) { o.Info = "note" })
	var o OK
	if err := o.Decode(withInfo); err != nil || o.Info != "note" ||
		!bytes.HasSuffix(withInfo, []byte("shop")) {
		t.Errorf("got %q", withInfo)
	}
}

func TestQueryTextBehindAttributes(t *testing.T) {
	t.Parallel()
	attributes := []byte{
		byte(Query), 3, 1, 0b100, 1, 8, 0, 1, 'n', 0xFE, 0, 1, 's', 3, 0, 1, 'x', 1, 2, 3, 4, 5, 6, 7,
		8, 2, 'h', 'i',
	}
	for _, c := range []struct {
		payload []byte
		caps    Capability
		ok      bool
	}{
		{[]byte("\x03SELECT 1"), 0, true},
		{[]byte("\x03\x00\x01SELECT 1"), QueryAttributes, true},
		{[]byte("\x16SELECT 1"), QueryAttributes, true},
		{append(bytes.Clone(attributes), "SELECT 1"...), QueryAttributes, true},
		{attributes[:10], QueryAttributes, false},
		{[]byte{3, 0xFE, 255, 255, 255, 255, 255, 255, 255, 255, 1}, QueryAttributes, false},
		{nil, 0, false},
	} {
		at, ok := QueryText(c.payload, c.caps)
		if ok != c.ok || ok && string(c.payload[at:]) != "SELECT 1" {
			t.Errorf("%q: got %d, %v", c.payload, at, ok)
		}
	}
}
