package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// What stops a server is said of everything and of every table, whether its job is due or not, and also if no node can
// write that down.
func TestEverySurfaceSaysWhatStopsTheServer(t *testing.T) {
	t.Parallel()
	applier := map[sandbox.Flavour][3]string{
		sandbox.MariaDB: {
			"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='x'", "START SLAVE SQL_THREAD",
			"STOP SLAVE",
		},
		sandbox.MySQL: {
			"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1, SOURCE_USER='x'",
			"START REPLICA SQL_THREAD", "STOP REPLICA",
		},
	}
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Start(t, flavour)
			s := newSurfaces(t, server)
			s.sql("CREATE TABLE keeps (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY TTL_TIME_ZONE = 'UTC'")
			s.sql("CREATE TABLE fresh (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY TTL_TIME_ZONE = 'UTC'")
			s.ended("keeps", catalog.JobFinished, "")
			root := server.Open(t, "")
			a := applier[flavour]
			for _, c := range []struct{ begin, end, why string }{
				{"SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0", "the server is read-only"},
				{
					"SET GLOBAL binlog_format = 'STATEMENT'", "SET GLOBAL binlog_format = 'ROW'",
					catalog.BinlogPause,
				},
				{a[1], a[2], "the server applies replication ("},
			} {
				if c.begin == a[1] {
					execAll(t, root, a[0])
				}
				execAll(t, root, c.begin)
				s.agree(c.begin, report.HaltServer, map[string]string{"": "PAUSED (" + c.why})
				execAll(t, root, c.end)
			}
			s.agree("as it was", "", map[string]string{"keeps": "KEEPING UP", "fresh": "WAITING (the first job"})
		})
	}
}

// holdBack makes the node say that a check of its own lets nothing go, or that none does.
func (s *surfaces) holdBack(why string) {
	s.says = func() { // again and again, as a node does
		s.must(s.store.SetThrottle(s.Context(), catalog.Throttle{Node: s.node, Own: catalog.Own{HeldBy: why}}))
	}
}

// stop makes a node say that it is stopped.
func (s *surfaces) stop(node uint64) {
	s.Helper()
	s.must(s.store.Beat(s.Context(), node, 1, catalog.StopFile, "the stop file /stop exists"))
	s.everLiving(node)
}

// leave is the end of a node.
func (s *surfaces) leave(node *uint64) {
	s.Helper()
	s.must(s.store.Leave(s.Context(), *node))
	*node = 0
}

// trust ends a hold.
func (s *surfaces) trust() {
	s.Helper()
	s.must(s.store.Trust(s.Context(), "test", s.store.Server().Key()))
}

// halted finds a surface that does not say what keeps everything, or one engine of several, from deleting.
func (s *surfaces) halted(code report.HaltCode) string {
	s.Helper()
	var page pageHead
	s.must(json.Unmarshal([]byte(s.get("/api/v1/status")), &page))
	for _, wrong := range []string{s.haltInSQL(code, page), s.haltInMetrics(code), s.haltOnTerminal(page)} {
		if wrong != "" {
			return wrong
		}
	}

	if code == "" || code == report.HaltSignal {
		return "" // a job may be asked for
	}
	_, err := s.db.ExecContext(s.Context(), "RUN TTL JOB FOR fresh")
	word := report.Halt{Code: code}.Verdict().Word
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("cannot run now: %s (%s", word, page.Halted.Why)) {
		return fmt.Sprintf("RUN TTL JOB is answered with %v", err)
	}

	return ""
}

// pageHead is what the page shows above all tables.
type pageHead struct {
	Held, Stopped string
	Halted        struct{ Code, Why string }
}

// haltInSQL compares SHOW TTL STATUS with the page's JSON and with what should be said.
func (s *surfaces) haltInSQL(code report.HaltCode, page pageHead) string {
	s.Helper()
	said, deleting, stopped := map[string]string{}, "OFF", "0"
	for _, row := range s.list("SHOW TTL STATUS") {
		said[row["Variable_name"]] = row["Value"]
	}

	if code == "" {
		deleting = "ON"
	}
	if code == report.HaltStopped || s.other != 0 {
		stopped = "1"
	}

	if page.Halted.Code != string(code) || said["Deleting"] != deleting || said["Halted_by"] != page.Halted.Why ||
		said["Engines_stopped"] != stopped || said["Stopped_by"] != page.Stopped {
		return fmt.Sprintf("the page says %+v, SHOW TTL STATUS %v, want %s", page, said, code)
	}

	want := pageHead{Halted: page.Halted}
	if code == report.HaltHeld {
		want.Held = "a clone"
	}
	if s.other != 0 {
		want.Stopped = "1 of 2 engines: the stop file /stop exists (on other)"
	}
	if page != want {
		return fmt.Sprintf("the page says %+v, want %+v", page, want)
	}
	return ""
}

// haltInMetrics demands the series of one halt, and of no other.
func (s *surfaces) haltInMetrics(code report.HaltCode) string {
	s.Helper()
	var want []string
	for _, c := range report.HaltCodes() {
		want = append(want, fmt.Sprintf("ttlproxy_halted{reason=%q} %d", c, oneIf(c == code)))
	}

	want = append(want, fmt.Sprintf("ttlproxy_held %d", oneIf(code == report.HaltHeld)))
	if code == report.HaltStopped {
		want = append(want, `ttlproxy_node_stopped{node="idle",reason="stop file"} 1`)
	}
	if s.other != 0 {
		want = append(want, `ttlproxy_node_stopped{node="other",reason="stop file"} 1`)
	}

	metrics := s.get("/metrics")
	for _, m := range want {
		if !strings.Contains(metrics, m+"\n") {
			return "there is no metric " + m
		}
	}
	return ""
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// haltOnTerminal looks for the same in the first line of ttlproxy status.
func (s *surfaces) haltOnTerminal(page pageHead) string {
	s.Helper()
	out, err := s.program("status")
	s.must(err)
	first, _, _ := strings.Cut(string(out), "\n")
	if page.Halted.Why != "" && !strings.Contains(first, "  NOT DELETING: "+page.Halted.Why+"  ") ||
		strings.Contains(first, "NOT DELETING") != (page.Halted.Why != "") ||
		page.Stopped != "" && !strings.HasSuffix(first, "engines: 2, stopped: "+page.Stopped) ||
		strings.Contains(first, "stopped: ") != (page.Stopped != "") {
		return fmt.Sprintf("ttlproxy status begins with %s, the page says %+v", first, page)
	}
	return ""
}

// checked demands that ttlproxy check warns of something.
func (s *surfaces) checked(warning string) {
	s.Helper()
	out, err := s.program("check")
	if _, findings := errors.AsType[*exec.ExitError](err); err != nil && !findings {
		s.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^warning +engines +` + regexp.QuoteMeta(warning) + "$").Match(out) {
		s.Errorf("ttlproxy check does not warn of %s:\n%s", warning, out)
	}
}
