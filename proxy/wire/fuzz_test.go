package wire

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzTracker: whatever a server sends, and in whatever pieces, the same responses end at the same
// places.
func FuzzTracker(f *testing.F) {
	for _, c := range conversations {
		if c.server.Len() < 4096 {
			var commands []byte
			for _, command := range c.commands {
				commands = append(commands, byte(command))
			}
			f.Add(uint64(c.caps), commands, c.server.Bytes(), uint8(3))
		}
	}
	f.Fuzz(func(t *testing.T, caps uint64, commands, server []byte, size uint8) {
		run := func(size int) (reports []Report, ends []int, opaque bool) {
			tr := Tracker{Capabilities: Capability(caps)}
			for i, c := range commands {
				tr.Begin(Command(c), int64(i))
			}

			at := 0
			for chunk := range slices.Chunk(server, size) {
				for len(chunk) > 0 {
					n, r, ended := tr.Scan(chunk)
					if n == 0 && !ended {
						t.Fatal("no progress")
					}

					at += n
					chunk = chunk[n:]
					if ended {
						reports, ends = append(reports, r), append(ends, at)
					}
				}
			}

			return reports, ends, tr.Opaque()
		}

		whole, wholeEnds, wholeOpaque := run(max(1, len(server)))
		pieces, piecesEnds, piecesOpaque := run(max(1, int(size)))
		if !slices.Equal(whole, pieces) || !slices.Equal(wholeEnds, piecesEnds) || wholeOpaque != piecesOpaque {
			t.Errorf("in one: %v at %v (opaque %v), in pieces of %d: %v at %v (opaque %v)",
				whole, wholeEnds, wholeOpaque, size, pieces, piecesEnds, piecesOpaque)
		}
	})
}

// FuzzScanner: the same for the client's side.
func FuzzScanner(f *testing.F) {
	for _, c := range clientStreams {
		if c.client.Len() < 1<<16 {
			f.Add(c.client.Bytes(), uint8(3))
		}
	}
	f.Fuzz(func(t *testing.T, client []byte, size uint8) {
		run := func(size int) (starts []Start, ends []int) {
			var s Scanner
			at := 0
			for chunk := range slices.Chunk(client, size) {
				for len(chunk) > 0 {
					n, c, found := s.Scan(chunk)
					at += n
					chunk = chunk[n:]
					if found {
						starts, ends = append(starts, c), append(ends, at)
					} else if n == 0 {
						t.Fatal("no progress")
					}
				}
				if u := s.Undecided(); u < 0 || u > HeaderSize {
					t.Fatalf("got %d undecided", u)
				}
			}

			return starts, ends
		}

		whole, wholeEnds := run(max(1, len(client)))
		pieces, piecesEnds := run(max(1, int(size)))
		if !slices.Equal(whole, pieces) || !slices.Equal(wholeEnds, piecesEnds) {
			t.Errorf("in one: %v at %v, in pieces of %d: %v at %v", whole, wholeEnds, size, pieces, piecesEnds)
		}
	})
}

// FuzzSplice: a splice that shifts nothing and promises nothing changes nothing.
func FuzzSplice(f *testing.F) {
	for _, c := range conversations {
		if c.server.Len() < 4096 {
			f.Add(c.server.Bytes(), uint8(3))
		}
	}
	f.Fuzz(func(t *testing.T, server []byte, size uint8) {
		var tr Tracker
		tr.Begin(Query, 0)
		s := Splice{Tracker: &tr}
		var out []byte

		for chunk := range slices.Chunk(server, max(1, int(size))) {
			out = s.Append(out, chunk, func(Report) {})
		}

		out = append(out, s.held...)
		if !bytes.Equal(out, server) {
			t.Errorf("got %q, want %q", out, server)
		}
	})
}

// FuzzDecode: no packet makes a decoder panic, and what a decoder reads is written as it was.
func FuzzDecode(f *testing.F) {
	g := Greeting{Version: "8.0", Capabilities: Protocol41 | 1<<36, Salt: make([]byte, 20), AuthPlugin: "p"}
	f.Add(g.Append(nil), uint64(0))
	f.Add((&Error{Code: 1064, State: "42000", Message: "no"}).Append(nil), uint64(0))
	f.Add(OK{Affected: 3, Info: "i"}.Append(nil), uint64(SessionTrack))
	f.Add(append([]byte{byte(Query), 1, 1, 0, 1, 8, 0, 1, 'n', 1, 2, 3, 4, 5, 6, 7, 8}, "SELECT"...),
		uint64(QueryAttributes))
	f.Fuzz(func(t *testing.T, payload []byte, capBits uint64) {
		caps := Capability(capBits)
		var g Greeting
		if g.Decode(payload) == nil {
			patched := bytes.Clone(payload)
			g.Patch(patched, g.Capabilities)
			if !bytes.Equal(patched, payload) {
				t.Errorf("patching nothing changed %q to %q", payload, patched)
			}
		}

		var r HandshakeResponse
		r.Decode(payload)
		var e Error
		e.Decode(payload)
		var o OK
		o.Decode(payload)
		ChangeOK(bytes.Clone(payload), caps, func(o *OK) { o.Warnings++ })
		var c Column
		c.Decode(payload, caps)

		if at, ok := QueryText(payload, caps); ok && at > len(payload) {
			t.Errorf("text at %d of %d", at, len(payload))
		}

		DecodeResult(payload, TextRows, caps)
		DecodeResult(payload, BinaryRows, caps)
		ChangeRows(payload, TextRows, caps, func(row [][]byte) [][]byte { return row })
	})
}
