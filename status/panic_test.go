package status

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestPanicInARequest: a bug that a question of the page runs into is an answer and a line of the log, and others are
// answered; also where it is a goroutine of the request's that has panicked.
func TestPanicInARequest(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newTestServer(t, Config{}) // without a catalog, which no program serves
	s.log = slog.New(slog.NewTextHandler(&log, nil))

	code, body := ask(s, "GET", "/api/v1/status", "")
	if code != 500 || !strings.Contains(body, "a bug in ttlproxy: ") {
		t.Errorf("got %d %s", code, body)
	}
	if line := log.String(); !strings.Contains(line, "level=ERROR") || !strings.Contains(line, "path=/api/v1/status") ||
		!namesReading(line) {
		t.Errorf("the log says %q; want the path and the stack", line)
	}
	if code, body := ask(s, "GET", "/healthz", ""); code != 200 {
		t.Errorf("the next one: got %d %s", code, body)
	}
}

// TestPanicInMetrics: Prometheus collects in goroutines that nobody guards.
func TestPanicInMetrics(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := prometheus.NewRegistry()
	r.MustRegister(NewCollector(nil, slog.New(slog.NewTextHandler(&log, nil)))) // without a catalog
	if _, err := r.Gather(); err == nil || !strings.Contains(err.Error(), "a bug in ttlproxy: ") {
		t.Errorf("got %v", err)
	}
	if line := log.String(); !strings.Contains(line, "level=ERROR") || !namesReading(line) {
		t.Errorf("the log says %q; want the stack", line)
	}
}

// namesReading reports whether a stack is that of one of the goroutines that read the catalog.
func namesReading(stack string) bool {
	return strings.Contains(stack, "catalog/report.Read") || strings.Contains(stack, "status.takeLook")
}
