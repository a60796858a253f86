package status

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// healthz says that the process runs and serves. It asks nobody else, so that a database that is
// down does not get its proxies restarted.
func (*Server) healthz(w http.ResponseWriter, _ *http.Request) {
	plain(w, http.StatusOK, "ok\n")
}

// readyz says whether clients should be sent here: 200 when every check passes, 503 and the reasons
// otherwise.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	errs := runChecks(r.Context(), s.cfg.Checks)
	var text strings.Builder
	code := http.StatusOK
	for i, c := range s.cfg.Checks {
		if errs[i] != nil {
			code = http.StatusServiceUnavailable
			fmt.Fprintf(&text, "%s: %v\n", c.Name, errs[i])
			continue
		}
		fmt.Fprintf(&text, "%s: ok\n", c.Name)
	}

	if len(s.cfg.Checks) == 0 {
		text.WriteString("ok\n")
	}

	plain(w, code, text.String())
}

// runChecks runs all checks at the same time and returns their errors in order.
func runChecks(ctx context.Context, checks []Check) []error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	errs := make([]error, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() { errs[i] = c.Run(ctx) })
	}
	wg.Wait()
	return errs
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text)) // the client has gone: nobody to tell
}
