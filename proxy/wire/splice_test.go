package wire

import (
	"bytes"
	"slices"
	"testing"
)

// The answers to two statements that were sent one by one become the answer to one packet.
func TestSpliceNumbersThroughAndPromisesMore(t *testing.T) {
	t.Parallel()
	rows := func(s *stream, status Status) *stream {
		return s.packet(1).column("a").eof(status).packet(1, 'x').eof(status)
	}
	for _, size := range []int{1, 2, 7, 1000} {
		var tr Tracker
		var out []byte
		reports := 0
		play := func(server *stream, shift byte, more bool) byte {
			tr.Begin(Query, 0)
			s := Splice{Tracker: &tr, Shift: shift, More: more}
			for chunk := range slices.Chunk(server.Bytes(), size) {
				out = s.Append(out, chunk, func(Report) { reports++ })
			}
			return s.Last()
		}

		last := play(rows(new(stream).at(1), Autocommit), 0, true)
		last = play(new(stream).at(1).ok(Autocommit), last, true)
		play(new(stream).at(1).err(1064), last, true)

		want := rows(new(stream).at(1), Autocommit|MoreResults).ok(Autocommit | MoreResults).err(1064)
		if !bytes.Equal(out, want.Bytes()) || reports != 3 {
			t.Errorf("pieces of %d: got %q and %d reports, want %q and 3", size, out, reports, want.Bytes())
		}
	}
}
