package status

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

const testToken = "0123456789abcdef"

// newTestServer returns a server without a catalog: what needs one is tested with a real one.
func newTestServer(t *testing.T, cfg Config) *Server {
	t.Helper()
	cfg.Listen = "127.0.0.1:0"
	s, err := New(t.Context(), cfg, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.Open(nil, nil)
	t.Cleanup(func() { s.listener.Close() })
	return s
}

// testRoutes are the routes of an API without a catalog.
func testRoutes(token string) []route {
	return newAPI(newGate(token), Config{}, nil, nil, slog.New(slog.DiscardHandler)).routes()
}

// ask puts a request to the server's handler.
func ask(s *Server, method, target, token string) (int, string) {
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr = "127.0.0.1:1234"
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, r)
	body, _ := io.ReadAll(w.Result().Body)
	return w.Code, string(body)
}

func TestActionsNeedTheToken(t *testing.T) {
	t.Parallel()
	without, with := newTestServer(t, Config{}), newTestServer(t, Config{Token: testToken})
	for _, r := range testRoutes(testToken) {
		if r.access != needToken {
			continue
		}

		target := strings.NewReplacer("{schema}", "a", "{table}", "b").Replace(r.pattern)
		if code, body := ask(without, r.method, target, testToken); code != http.StatusForbidden ||
			!strings.Contains(body, "--status-token-file") {
			t.Errorf("%s %s, no token configured: got %d %s", r.method, target, code, body)
		}

		for _, token := range []string{"", "wrong", testToken[1:], testToken + "0"} {
			if code, _ := ask(with, r.method, target, token); code != http.StatusUnauthorized {
				t.Errorf("%s %s with token %q: got %d, want 401", r.method, target, token, code)
			}
		}
	}

	if code, _ := ask(with, "GET", "/api/v1/token", testToken); code != http.StatusOK {
		t.Errorf("the right token: got %d, want 200", code)
	}
}

// TestTheTokenIsReplaced: from the next request on, of the page as of the API, and the old one is worth nothing.
func TestTheTokenIsReplaced(t *testing.T) {
	t.Parallel()
	const next = "fedcba9876543210"
	s := newTestServer(t, Config{Token: testToken})
	h := s.handler()
	check := func(token string, want int) {
		t.Helper()
		for _, target := range []string{"/api/v1/token", "/debug/pprof/cmdline"} {
			r := httptest.NewRequest("GET", target, nil)
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s with %s: got %d, want %d", target, token, w.Code, want)
			}
		}
	}

	check(testToken, http.StatusOK)
	s.SetToken(next)
	check(testToken, http.StatusUnauthorized)
	check(next, http.StatusOK)
	s.SetToken("")
	check(next, http.StatusForbidden)
}

func TestGetChangesNothing(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{Token: testToken})
	for _, r := range testRoutes(testToken) {
		if r.method != http.MethodPost || !strings.HasPrefix(r.pattern, "/api/") {
			continue
		}
		target := strings.NewReplacer("{schema}", "a", "{table}", "b").Replace(r.pattern)
		if code, _ := ask(s, "GET", target, testToken); code != http.StatusNotFound {
			t.Errorf("GET %s: got %d, want 404", target, code)
		}
	}

	if code, body := ask(s, "GET", "/test/ttl/trigger/a/b", testToken); code != http.StatusBadRequest ||
		!strings.Contains(body, "only supports POST") {
		t.Errorf("GET of TiDB's endpoint: got %d %s", code, body)
	}
}

// TestForeignPagesMayNotAct: a browser that shows another site must not act here for whoever looks
// at that.
func TestForeignPagesMayNotAct(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{Token: testToken})
	for _, c := range []struct {
		method, path, name, value string
		want                      int
	}{
		{"POST", "/api/v1/pause", "Sec-Fetch-Site", "cross-site", http.StatusForbidden},
		{"POST", "/api/v1/pause", "Origin", "http://evil.example", http.StatusForbidden},
		{"POST", "/test/ttl/trigger/a/b", "Origin", "http://evil.example", http.StatusForbidden},
		{"POST", "/api/v1/pause", "Origin", "http://proxy.example", http.StatusUnauthorized},
		{"POST", "/api/v1/pause", "Sec-Fetch-Site", "same-origin", http.StatusUnauthorized},
		// which the browser does not show to it
		{"GET", "/api/v1/openapi.json", "Origin", "http://evil.example", http.StatusOK},
	} {
		r := httptest.NewRequest(c.method, "http://proxy.example"+c.path, nil)
		r.Header.Set(c.name, c.value)
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, r)

		if w.Code != c.want {
			t.Errorf("%s %s with %s: %s: got %d %s, want %d", c.method, c.path, c.name, c.value, w.Code, w.Body, c.want)
		}
		if allowed := w.Header().Get("Access-Control-Allow-Origin"); allowed != "" {
			t.Errorf("%s %s: other sites may read the answer: %s", c.method, c.path, allowed)
		}
	}
}

func TestProfilesAreNotForStrangers(t *testing.T) {
	t.Parallel()
	open, closed := newTestServer(t, Config{}), newTestServer(t, Config{Token: testToken})
	get := func(s *Server, host, remote, token string) int {
		r := httptest.NewRequest("GET", "http://"+host+"/debug/pprof/cmdline", nil)
		r.RemoteAddr = remote
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, r)
		return w.Code
	}

	for _, c := range []struct {
		what                string
		server              *Server
		host, remote, token string
		want                int
	}{
		{"on this machine", open, "localhost:9090", "127.0.0.1:5", "", 200},
		{"on this machine, IPv6", open, "[::1]:9090", "[::1]:5", "", 200},
		{"from elsewhere", open, "proxy:9090", "10.0.0.9:5", "", 403},
		{"a foreign page that resolves to this machine", open, "evil.example", "127.0.0.1:5", "", 403},
		{"on this machine, a token is configured", closed, "localhost:9090", "127.0.0.1:5", "", 401},
		{"from elsewhere with the token", closed, "proxy:9090", "10.0.0.9:5", testToken, 200},
	} {
		if got := get(c.server, c.host, c.remote, c.token); got != c.want {
			t.Errorf("%s: got %d, want %d", c.what, got, c.want)
		}
	}
}

func TestReadinessNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{Checks: []Check{
		{"catalog", func(context.Context) error { return nil }},
		{"backend", func(context.Context) error { return errors.New("connection refused") }},
	}})
	code, body := ask(s, "GET", "/readyz", "")
	if want := "catalog: ok\nbackend: connection refused\n"; code != http.StatusServiceUnavailable || body != want {
		t.Errorf("got %d %q, want 503 %q", code, body, want)
	}
	if code, body := ask(s, "GET", "/healthz", ""); code != http.StatusOK || body != "ok\n" {
		t.Errorf("alive all the same: got %d %q", code, body)
	}
}

func TestConfigIsCheckedAtTheStart(t *testing.T) {
	t.Parallel()
	for text, cfg := range map[string]Config{
		"no address":  {},
		"HOST:PORT":   {Listen: "9090"},
		"at least 16": {Listen: "127.0.0.1:0", Token: "short"},
	} {
		if err := cfg.validate(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: got %v, want an error with %q", cfg, err, text)
		}
	}
}

func TestPageAsksNobodyElse(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{})
	for _, path := range []string{
		"/", "/app.js", "/style.css", "/view/table.js", "/vendor/uplot.min.js",
		"/vendor/uplot.LICENSE", "/icon.svg",
	} {
		if code, _ := ask(s, "GET", path, ""); code != http.StatusOK {
			t.Errorf("%s: got %d, want 200", path, code)
		}
	}

	for _, path := range []string{"/view/", "/none", "/api/v1/none", "/api/"} {
		if code, _ := ask(s, "GET", path, ""); code != http.StatusNotFound {
			t.Errorf("%s: got %d, want 404", path, code)
		}
	}

	r := httptest.NewRequest("GET", "/", nil)
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, r)
	if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("got policy %q", policy)
	}
}

// TestOtherNamesForThisMachine: a site whose name resolves to this machine reads nothing through a
// browser here.
func TestOtherNamesForThisMachine(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{Token: testToken})
	web := httptest.NewServer(s.handler())
	defer web.Close()

	for _, c := range []struct {
		host, path, token string
		code              int
	}{
		{"evil.example", "/metrics", "", http.StatusMisdirectedRequest},
		{"evil.example:8080", "/", "", http.StatusMisdirectedRequest},
		{"evil.example", "/api/v1/openapi.json", "", http.StatusMisdirectedRequest},
		{"localhost.evil.example", "/metrics", "", http.StatusMisdirectedRequest},
		{"127.0.0.1.evil.example", "/metrics", "", http.StatusMisdirectedRequest},
		{"evil.example", "/metrics", testToken, http.StatusOK},
		{"evil.example", "/healthz", "", http.StatusOK},
		{"localhost:1", "/metrics", "", http.StatusOK},
		{"127.0.0.1", "/metrics", "", http.StatusOK},
		{"[::1]:80", "/", "", http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+c.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}

		r.Host = c.host
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}

		answer, err := web.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}

		answer.Body.Close()
		if answer.StatusCode != c.code {
			t.Errorf("%s%s: got %d, want %d", c.host, c.path, answer.StatusCode, c.code)
		}
	}
}

// TestAbandonedSocket: a proxy that was killed leaves its socket file behind, and starts again.
func TestAbandonedSocket(t *testing.T) {
	t.Parallel()
	cfg := Config{Listen: "unix:" + filepath.Join(t.TempDir(), "s")}
	start := func() (*Server, error) {
		return New(t.Context(), cfg, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	}
	killed, err := start()
	if err != nil {
		t.Fatal(err)
	}
	killed.listener.(*net.UnixListener).SetUnlinkOnClose(false)
	killed.listener.Close()

	again, err := start()
	if err != nil {
		t.Fatal(err)
	}
	defer again.listener.Close()
	if _, err := start(); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("beside a living one: got %v, want %v", err, syscall.EADDRINUSE)
	}
}
