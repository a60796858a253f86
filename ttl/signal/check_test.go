package signal

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestWebCheck: 2xx lets deletion go on, every other answer holds it, and none is unknown.
func TestWebCheck(t *testing.T) {
	t.Parallel()
	var code atomic.Int64
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			asked = true
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(int(code.Load()))
	}))
	defer server.Close()

	address := strings.Replace(server.URL, "http://", "http://ann:secret@", 1) + "/may-delete?token=secret"
	all, err := Checks{URL: address}.Signals()
	if err != nil || len(all) != 1 {
		t.Fatalf("%v (%v)", all, err)
	}

	for status, want := range map[int64]State{200: Measured, 204: Measured, 302: Holds, 404: Holds, 429: Holds, 503: Holds} {
		code.Store(status)
		readings, err := all[0].Read(t.Context(), Look{})
		if err != nil || len(readings) != 1 || readings[0].State != want {
			t.Errorf("to %d it says %v (%v)", status, readings, err)
			continue
		}
		if r := readings[0]; strings.Contains(r.Source+r.Detail, "secret") {
			t.Errorf("it tells a secret: %+v", r)
		}
	}
	if asked {
		t.Error("it has followed a redirection")
	}

	server.Close()
	if readings, err := all[0].Read(t.Context(), Look{}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("without a server it says %v (%v)", readings, err)
	}

	for _, wrong := range []string{"ftp://a/b", "/may-delete", "http://", "http://[::1"} {
		if all, err := (Checks{URL: wrong}).Signals(); err == nil {
			t.Errorf("%s was accepted: %v", wrong, all)
		}
	}
}
