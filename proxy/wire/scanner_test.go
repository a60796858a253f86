package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ddlText is what a file might hold to be taken for a command.
const ddlText = "ALTER TABLE t TTL = a + INTERVAL 1 DAY"

var clientStreams = []struct {
	name   string
	client *stream
	want   string // "command size", one per command
}{
	{name: "query", client: new(stream).command(Query, "SELECT 1"), want: "query 9"},
	{name: "pipelined", client: new(stream).command(Prepare, "SELECT 1").command(Execute,
		"\xff\xff\xff\xff").command(Ping, ""), want: "prepare 9, execute 5, ping 1"},
	{name: "empty command", client: new(stream).packet().command(Ping, ""), want: "sleep 0, ping 1"},
	{
		name: "more than 16 MiB", want: "query 16777215, ping 1",
		client: new(stream).physical(MaxPayload, byte(Query)).physical(20, byte(Query)).command(Ping, ""),
	},
	{
		name: "exactly 16 MiB: the empty packet is no command", want: "query 16777215, ping 1",
		client: new(stream).physical(MaxPayload, byte(Query)).physical(0).command(Ping, ""),
	},
	{
		name: "more than 4 GiB wraps the number", want: "query 16777215, ping 1",
		client: new(stream).physical(MaxPayload, byte(Query)).at(0).physical(9, byte(Query)).command(Ping, ""),
	},
	{
		name: "file", want: "query 4, ping 1",
		client: new(stream).command(Query, "LOA").at(2).packet(1, 2, 3).packet(4).packet().command(Ping, ""),
	},
	{name: "file whose numbers wrap", client: wrappingFile(), want: "query 4, query 9"},
	{
		name: "two files in one command", want: "query 4, ping 1",
		client: new(stream).command(Query, "LOA").at(2).packet(1).packet().at(6).packet(1).packet().command(Ping, ""),
	},
	{
		name: "the end of a full packet is not the end of the file", want: "query 4, ping 1",
		client: new(stream).command(Query,
			"LOA").at(254).physical(MaxPayload).physical(0).at(0).packet([]byte("\x03"+
			ddlText)...).packet().command(Ping, ""),
	},
	{
		name: "the server refused the file", want: "query 4, query 9",
		client: new(stream).command(Query, "LOA").at(2).packet(1).packet().command(Query, "SELECT 1"),
	},
	{
		name: "answers of a login", want: "change_user 6, query 9",
		client: new(stream).command(ChangeUser, "u\x00\x00\x00\x00").at(3).packet('s', 'e', 'c', 'r', 'e',
			't').at(5).packet(2).command(Query, "SELECT 1"),
	},
}

// A file of which the reader of the other side knows that it begins with number 0 holds no command.
func TestScannerIsToldOfAFile(t *testing.T) {
	t.Parallel()
	for _, file := range []*stream{
		new(stream).packet([]byte("\x03" + ddlText)...).packet([]byte("\x03" + ddlText)...).packet(),
		new(stream).packet(3).packet(), new(stream).packet(),
	} {
		for _, size := range []int{1, 3, 4, 5, 1 << 30} {
			var s Scanner
			told := false
			var got []string
			for chunk := range slices.Chunk(file.command(Ping, "").Bytes(), size) {
				for len(chunk) > 0 {
					n, c, found := s.Scan(chunk)
					chunk = chunk[n:]
					if found && !told {
						s.File(c)
						told = true
					} else if found {
						got = append(got, fmt.Sprint(c.Command))
					}
				}
			}

			if fmt.Sprint(got) != "[ping]" || !s.RunEnded() {
				t.Errorf("chunks of %d: got %v, want a file and a ping", size, got)
			}
			file.Truncate(file.Len() - 5)
		}
	}
}

// The end of a file is told once, and only when an empty packet ends it.
func TestScannerTellsTheEndOfAFile(t *testing.T) {
	t.Parallel()
	var s Scanner
	for n, step := range []struct {
		bytes *stream
		want  bool
	}{
		{new(stream).command(Query, "LOA"), false},
		{new(stream).at(2).packet(1, 2, 3).packet(4), false},
		{new(stream).at(4).packet(), true},
		{new(stream).command(Ping, ""), false},
		{new(stream).command(Query, "LOA").at(2).packet(), true},
		{new(stream).command(Query, "LOA").at(2).physical(MaxPayload).physical(0), false},
		{new(stream).at(4).packet(), true},
	} {
		for b := step.bytes.Bytes(); len(b) > 0; {
			read, _, _ := s.Scan(b)
			b = b[read:]
		}

		if got := s.RunEnded(); got != step.want {
			t.Errorf("step %d: got %v, want %v", n, got, step.want)
		}
		if s.RunEnded() {
			t.Errorf("step %d: told twice", n)
		}
	}
}

// wrappingFile sends a file in so many packets that one of them carries the number 0 and reads like
// a command.
func wrappingFile() *stream {
	s := new(stream).command(Query, "LOA").at(2)
	for range 600 {
		s.packet(append([]byte{byte(Query)}, ddlText...)...)
	}
	return s.packet().command(Query, "SELECT 1")
}

func TestScannerFindsCommands(t *testing.T) {
	t.Parallel()
	for _, c := range clientStreams {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1 << 30, 1, 2, 3, 5, 7, 4096} {
				if size < 4096 && c.client.Len() > 1<<20 {
					continue
				}

				var s Scanner
				var got []string
				for chunk := range slices.Chunk(c.client.Bytes(), size) {
					for len(chunk) > 0 {
						n, start, found := s.Scan(chunk)
						if found {
							got = append(got, fmt.Sprintf("%v %d", start.Command, start.Size))
						}
						chunk = chunk[n:]
					}
				}

				if g := strings.Join(got, ", "); g != c.want {
					t.Errorf("chunks of %d: got %q, want %q", size, g, c.want)
				}
			}
		})
	}
}

// Whoever wants to hold a command back must not have sent its first bytes already.
func TestScannerSaysWhatIsUndecided(t *testing.T) {
	t.Parallel()
	b := new(stream).command(Query, "SELECT 1").Bytes()
	var s Scanner
	for i, want := range []int{1, 2, 3, 4, 0, 0} {
		s.Scan(b[i : i+1])
		if got := s.Undecided(); got != want {
			t.Errorf("after %d bytes: got %d undecided, want %d", i+1, got, want)
		}
	}
}

func TestScannerAllocatesNothing(t *testing.T) {
	b := new(stream).command(Query, "SELECT 1").command(Ping, "").Bytes()
	var s Scanner
	if n := testing.AllocsPerRun(100, func() {
		for rest := b; len(rest) > 0; {
			n, _, _ := s.Scan(rest)
			rest = rest[n:]
		}
	}); n != 0 {
		t.Errorf("got %v allocations per query, want 0", n)
	}
}

func BenchmarkScannerQuery(b *testing.B) {
	stream := new(stream).command(Query, "SELECT c FROM sbtest1 WHERE id = 50031").Bytes()
	var s Scanner
	b.ReportAllocs()
	for b.Loop() {
		n, _, _ := s.Scan(stream)
		s.Scan(stream[n:])
	}
}
