package wire

import (
	"bytes"
	"testing"
)

// tracked is an OK with changes of the session, each a type and two strings.
func tracked(changes ...[2]string) []byte {
	var block []byte
	for _, c := range changes {
		data := AppendString(AppendString(nil, []byte(c[0])), []byte(c[1]))
		block = AppendString(append(block, trackVariable), data)
	}
	block = AppendString(append(block, 1), AppendString(nil, []byte("shop"))) // the schema
	payload := OK{Status: Autocommit}.Append(nil)
	payload[endStatus(payload)+1] |= byte(SessionStateChanged >> 8)
	return AppendString(AppendString(payload, []byte("")), block)
}

// Only the request to connect elsewhere is cut from an OK.
func TestCutRedirect(t *testing.T) {
	t.Parallel()
	with := tracked([2]string{"autocommit", "ON"}, [2]string{redirectVariable, "mysql://elsewhere:3306"},
		[2]string{"time_zone", "UTC"})
	without := tracked([2]string{"autocommit", "ON"}, [2]string{"time_zone", "UTC"})
	const caps = Protocol41 | SessionTrack
	if got := CutRedirect(with, caps); !bytes.Equal(got, without) {
		t.Errorf("got %q, want %q", got, without)
	}

	plain := OK{Status: Autocommit}.Append(nil)
	for _, payload := range [][]byte{without, plain, with[:len(with)-3], {0xFF, 1, 2}, {}, nil} {
		if got := CutRedirect(payload, caps); !bytes.Equal(got, payload) {
			t.Errorf("%q became %q", payload, got)
		}
	}
	if got := CutRedirect(with, Protocol41); !bytes.Equal(got, with) {
		t.Error("an OK was changed whose end means something else")
	}
}
