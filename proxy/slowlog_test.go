package proxy

import (
	"bytes"
	"context"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// lines is a log that can be read.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Slow statements are logged, as text and prepared, without their values; quick ones are not.
func TestSlowLog(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		p := startEdge(t, BackendsConfig{Addresses: []string{s.Addr()}}, Config{SlowLog: 50 * time.Millisecond})
		db, err := clientOf(t, s, p.address, nil)
		if err != nil {
			t.Fatal(err)
		}

		ctx := context.Background()
		for _, q := range []string{"SELECT 'quick'", "SELECT CONCAT(SLEEP(0.1), 'secret', 4711)", "SELECT SLEEP(0.1)"} {
			var ignored any
			if err := db.QueryRowContext(ctx, q).Scan(&ignored); err != nil {
				t.Fatal(err)
			}
		}

		st, err := db.PrepareContext(ctx, "SELECT SLEEP(?), 'prepared secret'")
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()

		for _, seconds := range []float64{0.1, 0} {
			var slept, text any
			if err := st.QueryRowContext(ctx, seconds).Scan(&slept, &text); err != nil {
				t.Fatal(err)
			}
		}

		got := p.logged.String()
		for _, want := range []string{
			`statement="SELECT CONCAT(SLEEP(?), ?, ?)"`, `statement="SELECT SLEEP(?)"`,
			`command=execute`, `statement="SELECT SLEEP(?), ?"`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("want %s in\n%s", want, got)
			}
		}
		for _, took := range regexp.MustCompile(`took=(\S+)`).FindAllStringSubmatch(got, -1) {
			if d, err := time.ParseDuration(took[1]); err != nil || d < 50*time.Millisecond {
				t.Errorf("a statement of %s is slow (%v)", took[1], err) // on a busy machine any may be
			}
		}

		if strings.Contains(got, "secret") || strings.Contains(got, "quick") {
			t.Errorf("values or quick statements in\n%s", got)
		}
	})
}

// Commands that the server does not answer take no place in it: a value that is sent in pieces, a
// driver that empties its cache of statements.
func TestSlowLogAfterCommandsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, quiet := range []wire.Command{wire.CloseStatement, wire.SendLongData} {
		var log lines
		p := startEdge(t, BackendsConfig{Addresses: []string{deadAddress(t)}}, Config{SlowLog: time.Nanosecond})
		s := &session{server: p.Server, log: slog.New(slog.NewTextHandler(&log, nil)), peer: p.Addr()}
		l := &slowLog{threshold: 1}

		for i := range int64(2 * slowOutstanding) {
			l.begin(i, quiet, command(quiet, "\x01\x00\x00\x00"), 0)
		}
		for now := range int64(2) {
			l.begin(100+now, wire.Query, command(wire.Query, "SELECT 1"), 0)
			l.end(wire.Report{Command: wire.Query, Started: 100 + now}, time.Second, s)
		}
		if n := strings.Count(log.String(), "slow statement"); n != 2 {
			t.Errorf("%s: got %d lines, want 2", quiet, n)
		}
	}
}

// Of more than are kept at once, those that are not are not logged, and the log goes on.
func TestSlowLogOfALongPipeline(t *testing.T) {
	t.Parallel()
	var log lines
	p := startEdge(t, BackendsConfig{Addresses: []string{deadAddress(t)}}, Config{SlowLog: time.Nanosecond})
	s := &session{server: p.Server, log: slog.New(slog.NewTextHandler(&log, nil)), peer: p.Addr()}
	l := &slowLog{threshold: time.Second}
	for range 2 {
		for i := range int64(2 * slowOutstanding) {
			l.begin(i, wire.Query, command(wire.Query, "SELECT 1"), 0)
		}
		for i := range int64(2 * slowOutstanding) {
			l.end(wire.Report{Command: wire.Query, Started: i}, 0, s)
		}
	}
	l.begin(1, wire.Query, command(wire.Query, "SELECT 1"), 0)
	l.end(wire.Report{Command: wire.Query, Started: 1}, time.Minute, s)
	if n := strings.Count(log.String(), "slow statement"); n != 1 {
		t.Errorf("got %d lines, want 1", n)
	}
}

func TestSlowLogIsBounded(t *testing.T) {
	t.Parallel()
	p := startEdge(t, BackendsConfig{Addresses: []string{deadAddress(t)}}, Config{SlowLog: time.Nanosecond})
	var log lines
	s := &session{server: p.Server, log: slog.New(slog.NewTextHandler(&log, nil)), peer: p.Addr()}
	l := &slowLog{threshold: 1}

	for i := range int64(1000) {
		l.begin(i, wire.Query, command(wire.Query, "SELECT 1"), 0)
		l.end(wire.Report{Command: wire.Query, Started: i}, time.Second, s)
	}

	if n := strings.Count(log.String(), "\n"); n < slowPerSecond || n > 2*slowPerSecond {
		t.Errorf("got %d lines, want about %d", n, slowPerSecond)
	}

	for i := range int64(1000) { // commands without an answer
		l.begin(i, wire.CloseStatement, make([]byte, 5), 0)
	}

	if len(l.outstanding) > slowOutstanding {
		t.Errorf("%d commands are kept", len(l.outstanding))
	}
}

// With the log off nothing is kept, and with it on nothing is allocated for a quick statement.
func TestSlowLogAllocatesNothing(t *testing.T) {
	l := &slowLog{threshold: time.Second}
	payload := command(wire.Query, "SELECT 1")
	now := int64(0)
	once := func() {
		now++
		l.begin(now, wire.Query, payload, 0)
		l.end(wire.Report{Command: wire.Query, Started: now}, 0, nil)
	}
	once()
	if n := testing.AllocsPerRun(100, once); n > 0 {
		t.Errorf("got %v allocations per command, want none", n)
	}
}
