package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestPacketsSplitAndJoin(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, MaxPayload - 1, MaxPayload, MaxPayload + 1} {
		payload := bytes.Repeat([]byte{'x'}, size)
		b, next := AppendPacket(nil, 3, payload)
		want := byte(3 + size/MaxPayload + 1)
		if next != want {
			t.Errorf("%d bytes: got next number %d, want %d", size, next, want)
		}

		got, rest, err := NextPacket(append(b, "rest"...))
		if err != nil || !bytes.Equal(got, payload) || string(rest) != "rest" {
			t.Errorf("%d bytes: got %d back, rest %q, err %v", size, len(got), rest, err)
		}
	}
}

// What follows a request for TLS belongs to TLS.
func TestReadPacketReadsNoByteMore(t *testing.T) {
	t.Parallel()
	r := strings.NewReader("\x02\x00\x00\x01ab\x16\x03\x01")
	payload, seq, err := ReadPacket(r, nil, 100)
	if err != nil || string(payload) != "ab" || seq != 1 || r.Len() != 3 {
		t.Errorf("got %q, %d, %v and %d bytes left, want \"ab\", 1, nil and 3", payload, seq, err, r.Len())
	}
}

func TestReadPacketRefuses(t *testing.T) {
	t.Parallel()
	if _, _, err := ReadPacket(strings.NewReader("\x09\x00\x00\x01"), nil, 8); !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v, want ErrTooLong", err)
	}
	if _, _, err := ReadPacket(strings.NewReader("\x09\x00\x00\x01abc"), nil, 9); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want unexpected EOF", err)
	}
}

func TestIntegers(t *testing.T) {
	t.Parallel()
	for _, v := range []uint64{0, 250, 251, 255, 1<<16 - 1, 1 << 16, 1<<24 - 1, 1 << 24, 1<<64 - 1} {
		b := AppendInt(nil, v)
		got, n := Int(b)
		if got != v || n != len(b) {
			t.Errorf("%d: got %d in %d bytes of %d", v, got, n, len(b))
		}

		for short := range len(b) {
			if _, n := Int(b[:short]); n != 0 {
				t.Errorf("%d cut to %d bytes: got size %d, want 0", v, short, n)
			}
		}
	}

	if _, n := Int([]byte{lenencNull}); n != 0 {
		t.Error("NULL was read as an integer")
	}
}

// A length of 2^64-1 must not become a negative one.
func TestStringWithAbsurdLength(t *testing.T) {
	t.Parallel()
	if _, _, ok := String(append(AppendInt(nil, 1<<64-1), "abc"...)); ok {
		t.Error("got a string, want none")
	}
}
