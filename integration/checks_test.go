package integration

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestChecksOfAnOperator: what a proxy is given to check when it starts is shown with whom it asks and how long ago, at
// rest and at work, and decides how fast rows go.
func TestChecksOfAnOperator(t *testing.T) {
	t.Parallel()
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			var status atomic.Int64
			status.Store(http.StatusOK)
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if name, password, _ := r.BasicAuth(); name != "ops" || password != "secret" || r.Method != http.MethodGet {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				w.WriteHeader(int(status.Load()))
			}))
			t.Cleanup(web.Close)
			address := strings.TrimPrefix(web.URL, "http://")

			server := mysqltest.Start(t, flavour)
			execAll(t, server.Open(t, ""), "CREATE DATABASE ops", "CREATE TABLE ops.app (pressure DOUBLE, takes INT)",
				"INSERT INTO ops.app VALUES (0.5, 0)")
			s := newTrialOn(t, server, "--throttle-url=http://ops:secret@"+address+"/may-delete?now",
				"--throttle-query=SELECT pressure + SLEEP(takes) FROM ops.app")
			s.sql("SET GLOBAL ttl_brake_percent = 100, " + strings.Join(mysqltest.Signals, " = 0, ") + " = 0")

			s.wait("the checks to be shown at rest", func() bool {
				return s.reading("web_check").state == "measured" && s.reading("query").value == 0.5
			})
			if r := s.reading("web_check"); r.source != address+"/may-delete" || r.detail != "it answers 200 OK" || r.node == "" {
				t.Errorf("at rest the address is shown as %+v", r)
			}
			if r := s.reading("query"); r.source != "" || r.threshold != 1 || r.unit != "" || r.node == "" {
				t.Errorf("at rest the query is shown as %+v", r)
			}
			s.wait("what was measured at rest to grow old", func() bool { return s.reading("query").age > 4 })

			s.running(lasting)
			s.wait("the checks to be asked all the time", func() bool {
				return s.reading("query").age < 3 && s.reading("web_check").age < 3 && s.speed() == 100
			})

			execAll(t, s.direct, "UPDATE ops.app SET pressure = 4")
			s.wait("the query to slow deletion down", func() bool {
				return s.speed() < 20 && strings.Contains(s.verdict(), "held back by query: 4 > 1") && s.reading("query").held > 0
			})
			execAll(t, s.direct, "UPDATE ops.app SET pressure = 0")
			s.queryHangs()

			status.Store(http.StatusServiceUnavailable)
			s.wait("the address to stop deletion", func() bool {
				r := s.reading("web_check")
				why := "held back by web_check of " + address + "/may-delete: it answers 503 Service Unavailable"
				return r.state == "holds" && r.held > 0 && s.still() && strings.Contains(s.verdict(), why)
			})
			status.Store(http.StatusNoContent)
			s.wait("deletion to resume", func() bool { return s.speed() == 100 && !s.still() })
		})
	}
}

// queryHangs makes the query take a minute: it becomes unknown, and however long that lasts the server is not left with
// one question after the other that nobody waits for.
func (s *trial) queryHangs() {
	s.Helper()
	execAll(s.T, s.direct, "UPDATE ops.app SET takes = 60")
	most := 0
	for began := time.Now(); time.Since(began) < 10*time.Second || s.reading("query").state != "unknown"; {
		if time.Since(began) > mysqltest.Patience {
			s.Fatalf("it says %+v", s.reading("query"))
		}
		most = max(most, s.number("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT pressure%%'"))
		time.Sleep(100 * time.Millisecond)
	}
	if most < 1 || most > 3 {
		s.Errorf("of a query that hangs the server has %d", most)
	}
	execAll(s.T, s.direct, "UPDATE ops.app SET takes = 0")
	s.wait("the query to be answered", func() bool { return s.reading("query").state == "measured" })
}
