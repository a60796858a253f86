package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// conversations are responses of servers; each is a sentence of data-plane and a trap that somebody
// fell into. What follows all commands but the last is pipelined: the tracker learns all commands
// before the first byte.
var conversations = []struct {
	name     string
	caps     Capability
	commands []Command
	server   *stream
	want     string // "command code status", one per response
	opaque   bool
	busy     bool // the last response has not ended
	cursors  bool // each EXECUTE asks for one
}{
	{
		name: "ok", commands: []Command{Query}, server: new(stream).at(1).ok(Autocommit),
		want: "query 0 0x2",
	},
	{
		name: "error", commands: []Command{Query}, server: new(stream).at(1).err(1064),
		want: "query 1064 0x0",
	},
	{
		name: "rows", commands: []Command{Query},
		server: new(stream).at(1).packet(2).column("a").column("b").eof(2).
			packet(1, 'x', 1, 'y').packet(lenencNull, lenencNull).eof(3),
		want: "query 0 0x3",
	},
	{
		name: "rows without EOF", caps: DeprecateEOF, commands: []Command{Query},
		server: new(stream).at(1).packet(1).column("a").packet(1, 'x').end(2, ""),
		want:   "query 0 0x2",
	},
	{
		// The OK at the end is longer than any EOF when session state is tracked.
		name: "session state behind the rows", caps: DeprecateEOF | SessionTrack, commands: []Command{Query},
		server: new(stream).at(1).packet(1).column("a").packet(1, 'x').end(2, strings.Repeat("state", 60)),
		want:   "query 0 0x2",
	},
	{
		name: "error in the middle of rows", commands: []Command{Query, Ping},
		server: new(stream).at(1).packet(1).column("a").eof(2).packet(1, 'x').err(1317).at(1).ok(2),
		want:   "query 1317 0x0, ping 0 0x2",
	},
	{
		name: "several results, then an error ends them all", commands: []Command{Query, Ping},
		server: new(stream).at(1).ok(2|MoreResults).packet(1).column("a").eof(2|MoreResults).packet(1,
			'x').eof(2 | MoreResults).err(1064).at(1).ok(2),
		want: "query 1064 0xa, ping 0 0x2",
	},
	{
		name: "procedure: its results, then an OK", commands: []Command{Query},
		server: new(stream).at(1).packet(1).column("a").eof(2|MoreResults).packet(1, 'x').eof(2 | MoreResults).ok(2),
		want:   "query 0 0x2",
	},
	{
		name: "procedure without EOF", caps: DeprecateEOF, commands: []Command{Query},
		server: new(stream).at(1).packet(1).column("a").packet(1, 'x').end(2|MoreResults, "").ok(2),
		want:   "query 0 0x2",
	},
	{
		name: "a value of 16 MiB makes a row begin like its end", commands: []Command{Query},
		server: new(stream).at(1).packet(1).column("a").eof(2).
			physical(MaxPayload, lenenc8, 0, 0, 0, 1, 0, 0, 0, 0).physical(10, headerErr, 1, 2).eof(2),
		want: "query 0 0x2",
	},
	{
		name: "the same without EOF", caps: DeprecateEOF, commands: []Command{Query},
		server: new(stream).at(1).packet(1).column("a").
			physical(MaxPayload, lenenc8, 0, 0, 0, 1, 0, 0, 0, 0).physical(10, headerEOF, 1, 2).end(2, ""),
		want: "query 0 0x2",
	},
	{
		name: "a full packet ends with an empty one", commands: []Command{Query},
		server: new(stream).at(1).packet(1).column("a").eof(2).physical(MaxPayload, lenenc3).physical(0).eof(2),
		want:   "query 0 0x2",
	},
	{
		name: "two files wanted by one command", commands: []Command{Query},
		server: new(stream).at(1).packet(headerFile, 'f').at(4).ok(2|MoreResults).packet(headerFile, 'g').at(9).ok(2),
		want:   "query 0 0x2",
	},
	{
		name: "file refused", commands: []Command{Query, Ping},
		server: new(stream).at(1).packet(headerFile, 'f').at(4).err(1062).at(1).ok(2),
		want:   "query 1062 0x0, ping 0 0x2",
	},
	{
		name: "prepare", commands: []Command{Prepare},
		server: new(stream).at(1).prepareOK(1, 2).column("?").column("?").eof(2).column("a").eof(2),
		want:   "prepare 0 0x0",
	},
	{
		name: "prepare without EOF", caps: DeprecateEOF, commands: []Command{Prepare, Ping},
		server: new(stream).at(1).prepareOK(1, 2).column("?").column("?").column("a").at(1).ok(2),
		want:   "prepare 0 0x0, ping 0 0x2",
	},
	{
		name: "prepare of what has neither parameters nor columns", commands: []Command{Prepare, Prepare},
		server: new(stream).at(1).prepareOK(0, 0).at(1).prepareOK(0, 1).column("?").eof(2),
		want:   "prepare 0 0x0, prepare 0 0x0",
	},
	{
		name: "prepare without definitions", caps: OptionalMetadata, commands: []Command{Prepare, Ping},
		server: new(stream).at(1).packet(0, 7, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0).eof(2).eof(2).at(1).ok(2),
		want:   "prepare 0 0x0, ping 0 0x2",
	},
	{
		name: "the same without EOF", caps: OptionalMetadata | DeprecateEOF, commands: []Command{Prepare, Ping},
		server: new(stream).at(1).packet(0, 7, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0).at(1).ok(2),
		want:   "prepare 0 0x0, ping 0 0x2",
	},
	{
		name: "execute before the answer to prepare, which fails", commands: []Command{Prepare, Execute},
		server: new(stream).at(1).err(1064).at(1).err(1243),
		want:   "prepare 1064 0x0, execute 1243 0x0",
	},
	{
		name: "binary rows", commands: []Command{Execute},
		server: new(stream).at(1).packet(1).column("a").eof(2).packet(0, 0, 1, 'x').eof(2),
		want:   "execute 0 0x2",
	},
	{
		name: "cursor", commands: []Command{Execute, Fetch, Fetch}, cursors: true,
		server: new(stream).at(1).packet(1).column("a").eof(2|CursorExists).
			at(1).packet(0, 0, 1, 'x').eof(2 | CursorExists).at(1).eof(2 | LastRowSent),
		want: "execute 0 0x42, fetch 0 0x42, fetch 0 0x82",
	},
	{
		name: "a stored program's own cursor", commands: []Command{Query},
		server: new(stream).at(1).packet(1).column("a").eof(2|CursorExists|MoreResults).packet(1,
			'x').eof(2 | CursorExists | MoreResults).ok(2),
		want: "query 0 0x2",
	},
	{
		name: "the same by EXECUTE", commands: []Command{Execute},
		server: new(stream).at(1).packet(1).column("a").eof(2|CursorExists|MoreResults).packet(0, 0,
			'x').eof(2 | CursorExists | MoreResults).ok(2),
		want: "execute 0 0x2",
	},
	{
		name: "the same by EXECUTE that asks for a cursor in vain", commands: []Command{Execute}, cursors: true,
		server: new(stream).at(1).packet(1).column("a").eof(2|CursorExists|MoreResults).packet(0, 0,
			'x').eof(2 | CursorExists | MoreResults).ok(2),
		want: "execute 0 0x2",
	},
	{
		name: "cursor without EOF", caps: DeprecateEOF, commands: []Command{Execute, Fetch}, cursors: true,
		server: new(stream).at(1).packet(1).column("a").end(2|CursorExists, "").
			at(1).packet(0, 0, 1, 'x').end(2|LastRowSent, ""),
		want: "execute 0 0x42, fetch 0 0x82",
	},
	{
		name: "MariaDB leaves known definitions out", caps: CacheMetadata, commands: []Command{Execute, Execute},
		server: new(stream).at(1).packet(1, 1).column("a").eof(2).packet(0, 0, 1, 'x').eof(2).
			at(1).packet(1, 0).eof(2).packet(0, 0, 1, 'x').eof(2),
		want: "execute 0 0x2, execute 0 0x2",
	},
	{
		name: "the same without EOF", caps: CacheMetadata | DeprecateEOF, commands: []Command{Execute, Execute},
		server: new(stream).at(1).packet(1, 1).column("a").packet(0, 0, 1, 'x').end(2, "").
			at(1).packet(1, 0).packet(0, 0, 1, 'x').end(2, ""),
		want: "execute 0 0x2, execute 0 0x2",
	},
	{
		name: "MySQL leaves the definitions out", caps: OptionalMetadata | DeprecateEOF,
		commands: []Command{Query, Query, Query}, server: new(stream).at(1).packet(1, 0).packet(1, 'x').end(2, "").
				at(1).packet(1, 1).column("a").packet(1, 'x').end(2, "").at(1).ok(2),
		want: "query 0 0x2, query 0 0x2, query 0 0x2",
	},
	{
		name: "progress is no error", caps: Progress, commands: []Command{Query},
		server: new(stream).at(1).packet(headerErr, 0xFF, 0xFF, 1, 1, 2, 0, 0, 0).
			packet(headerErr, 0xFF, 0xFF, 1, 2, 2, 0, 0, 0).ok(2),
		want: "query 0 0x2",
	},
	{
		name: "the number of progress, where there is none", commands: []Command{Query, Ping},
		server: new(stream).at(1).err(progressCode).at(1).ok(2),
		want:   "query 65535 0x0, ping 0 0x2",
	},
	{
		name: "commands without an answer", commands: []Command{SendLongData, CloseStatement, Ping, Quit},
		server: new(stream).at(1).ok(2),
		want:   "ping 0 0x2",
	},
	{
		name: "text for an answer", commands: []Command{Statistics, Statistics, Ping},
		server: new(stream).at(1).packet([]byte("\xFFptime: 1")...).at(1).packet([]byte("Uptime: 1")...).at(1).ok(2),
		want:   "statistics 0 0x0, statistics 0 0x0, ping 0 0x2",
	},
	{
		name: "EOF for an answer", commands: []Command{SetOption, Debug, SetOption},
		server: new(stream).at(1).eof(2).at(1).eof(2).at(1).end(3, ""),
		want:   "set_option 0 0x2, debug 0 0x2, set_option 0 0x3",
	},
	{
		name: "list of fields", commands: []Command{FieldList, FieldList},
		server: new(stream).at(1).column("a").column("b").eof(2).at(1).err(1146),
		want:   "field_list 0 0x2, field_list 1146 0x2",
	},
	{
		name: "change of user with questions", commands: []Command{ChangeUser},
		server: new(stream).at(1).packet(AuthSwitch, 'p', 0, 's').at(3).packet(AuthMore, 3).ok(2),
		want:   "change_user 0 0x2",
	},
	{
		name: "change of user refused", commands: []Command{ChangeUser},
		server: new(stream).at(1).packet(AuthSwitch, 'p', 0, 's').at(3).err(1045),
		want:   "change_user 1045 0x0",
	},
	{
		name: "empty command", commands: []Command{Sleep}, server: new(stream).at(1).err(1047),
		want: "sleep 1047 0x0",
	},
	{
		name: "transactions", commands: []Command{Query, Query},
		server: new(stream).at(1).ok(InTransaction).at(1).ok(InReadOnlyTransaction),
		want:   "query 0 0x1, query 0 0x2000",
	},
	{
		name: "unfinished", commands: []Command{Query}, busy: true,
		server: new(stream).at(1).packet(1).column("a").eof(2).packet(1, 'x'),
	},
	{
		name: "more than eight commands at once", commands: slices.Repeat([]Command{Ping}, 20), server: pings(20),
		want: strings.TrimSuffix(strings.Repeat("ping 0 0x2, ", 20), ", "),
	},
	{name: "binlog", commands: []Command{BinlogDump}, server: new(stream).at(1).packet(0, 1, 2, 3), opaque: true},
	{name: "unknown command", commands: []Command{0x40}, server: new(stream).at(1).ok(2), opaque: true},
	{name: "unasked", server: new(stream).ok(2), opaque: true},
	{name: "farewell", server: new(stream).err(1053)},
	{name: "farewell and more", server: new(stream).err(1053).ok(2), opaque: true},
	{name: "no columns", commands: []Command{Query}, server: new(stream).at(1).packet(0, 0), opaque: true},
	{
		name: "absurd count", commands: []Command{Query},
		server: new(stream).at(1).packet(lenenc8, 255, 255, 255, 255, 255, 255, 255, 255), opaque: true,
	},
	{name: "empty first packet", commands: []Command{Query}, server: new(stream).at(1).packet(), opaque: true},
	{name: "truncated error", commands: []Command{Query}, server: new(stream).at(1).packet(headerErr), opaque: true},
	{name: "truncated OK", commands: []Command{Ping}, server: new(stream).at(1).packet(0, lenenc8, 0), opaque: true},
}

func pings(n int) *stream {
	s := new(stream)
	for range n {
		s.at(1).ok(2)
	}
	return s
}

func TestTrackerFindsEndsOfResponses(t *testing.T) {
	t.Parallel()
	for _, c := range conversations {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1 << 30, 1, 2, 3, 5, 7, 4096} {
				if size < 4096 && c.server.Len() > 1<<20 {
					continue
				}

				tr := Tracker{Capabilities: c.caps}
				for i, command := range c.commands {
					if c.cursors && command == Execute {
						tr.BeginCursor(int64(i))
						continue
					}
					tr.Begin(command, int64(i))
				}

				var got []string
				for chunk := range slices.Chunk(c.server.Bytes(), size) {
					for _, r := range scanAll(&tr, chunk) {
						got = append(got, fmt.Sprintf("%v %d %#x", r.Command, r.Code, uint16(r.Status)))
					}
				}

				if s := strings.Join(got, ", "); s != c.want {
					t.Errorf("chunks of %d: got %q, want %q", size, s, c.want)
				}
				if tr.Opaque() != c.opaque || tr.Idle() == (c.opaque || c.busy) {
					t.Errorf("chunks of %d: opaque %v, idle %v", size, tr.Opaque(), tr.Idle())
				}
			}
		})
	}
}

func scanAll(t *Tracker, b []byte) (reports []Report) {
	for len(b) > 0 {
		n, r, ended := t.Scan(b)
		if ended {
			reports = append(reports, r)
		}
		b = b[n:]
	}
	return reports
}

func TestTrackerKnowsWhenAFileIsWanted(t *testing.T) {
	t.Parallel()
	var tr Tracker
	tr.Begin(Query, 0)
	scanAll(&tr, new(stream).at(1).packet(headerFile, 'f').Bytes())
	if !tr.FileWanted() {
		t.Error("got no wish for a file, want one")
	}
	scanAll(&tr, new(stream).at(4).err(1062).Bytes())
	if tr.FileWanted() {
		t.Error("got a wish for a file behind an error, want none")
	}
}

func TestTrackerReturnsTheTimeItWasGiven(t *testing.T) {
	t.Parallel()
	var tr Tracker
	tr.Begin(Ping, 41)
	tr.Begin(CloseStatement, 42)
	tr.Begin(Ping, 43)
	got := scanAll(&tr, pings(2).Bytes())
	if len(got) != 2 || got[0].Started != 41 || got[1].Started != 43 {
		t.Errorf("got %v, want reports started at 41 and 43", got)
	}
}

func TestTrackerAllocatesNothing(t *testing.T) {
	response := new(stream).at(1).packet(2).column("a").column("b").eof(2).
		packet(1, 'x', 1, 'y').packet(1, 'x', 1, 'y').eof(2).Bytes()
	var tr Tracker
	if n := testing.AllocsPerRun(100, func() {
		tr.Begin(Query, 1)
		for b := response; len(b) > 0; {
			n, _, _ := tr.Scan(b)
			b = b[n:]
		}
	}); n != 0 {
		t.Errorf("got %v allocations per query, want 0", n)
	}
}

func BenchmarkTrackerPointSelect(b *testing.B) {
	response := new(stream).at(1).packet(1).column("a").eof(2).packet(1, 'x').eof(2).Bytes()
	var tr Tracker
	b.ReportAllocs()
	for b.Loop() {
		tr.Begin(Query, 1)
		tr.Scan(response)
	}
}

func BenchmarkTrackerRows(b *testing.B) {
	s := new(stream).at(1).packet(1).column("a").eof(2)
	for range 5000 {
		s.packet(append(AppendInt(nil, 196), make([]byte, 196)...)...)
	}

	response := s.eof(2).Bytes()
	b.SetBytes(int64(len(response)))
	var tr Tracker
	for b.Loop() {
		tr.Begin(Query, 1)
		for rest := response; len(rest) > 0; {
			n, _, _ := tr.Scan(rest[:min(len(rest), 16384)])
			rest = rest[n:]
		}
	}
}
