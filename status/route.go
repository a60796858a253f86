package status

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ttlproxy/ttlproxy/panics"
)

// route is one thing the listener answers. The muxes, the token check and the test of openapi.json
// come from the tables below.
type route struct {
	method  string // empty for any
	pattern string
	access  access
	handle  http.HandlerFunc
}

// routes need nothing but the process.
func (s *Server) routes() []route {
	metrics := promhttp.HandlerFor(s.gatherer, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	all := []route{
		{"GET", "/healthz", open, s.healthz},
		{"GET", "/readyz", open, s.readyz},
		{"GET", "/metrics", open, metrics.ServeHTTP},
		{"", "/api/", open, s.viaCatalog},
		{"", "/test/ttl/", open, s.viaCatalog},
	}
	return append(append(all, profileRoutes()...), pageRoutes()...)
}

// routes need the catalog.
func (a *api) routes() []route {
	return []route{
		{"", "/test/ttl/trigger/", open, a.triggerMethod},
		{"POST", "/test/ttl/trigger/{schema}/{table}", open, a.trigger},

		{"GET", "/api/v1/openapi.json", open, a.openAPI},
		{"GET", "/api/v1/status", open, a.getStatus},
		{"GET", "/api/v1/series", open, a.getSeries},
		{"GET", "/api/v1/history", open, a.getHistory},
		{"GET", "/api/v1/events", open, a.getEvents},
		{"GET", "/api/v1/errors", open, a.getErrors},
		{"GET", "/api/v1/settings", open, a.getSettings},
		{"GET", "/api/v1/tables/{schema}/{table}", open, a.getTable},
		{"GET", "/api/v1/tables/{schema}/{table}/preview", open, a.getPreview},
		{"GET", "/api/v1/tables/{schema}/{table}/partitions", open, a.getPartitions},
		{"GET", "/api/v1/jobs/{job}/tasks", open, a.getTasks},
		{"GET", "/api/v1/sessions", needToken, a.getSessions},
		{"GET", "/api/v1/token", needToken, a.getToken},

		{"POST", "/api/v1/pause", needToken, a.pauseAll},
		{"POST", "/api/v1/resume", needToken, a.resumeAll},
		{"POST", "/api/v1/tables/{schema}/{table}/run", needToken, a.onPolicy(runJob)},
		{"POST", "/api/v1/tables/{schema}/{table}/pause", needToken, a.onPolicy(pausePolicy)},
		{"POST", "/api/v1/tables/{schema}/{table}/resume", needToken, a.onPolicy(resumePolicy)},
		{"POST", "/api/v1/tables/{schema}/{table}/approve", needToken, a.onPolicy(approvePolicy)},
		{"POST", "/api/v1/tables/{schema}/{table}/cancel", needToken, a.onPolicy(cancelJob)},
	}
}

// handler puts routes together, each behind the gate.
func (g gate) handler(routes []route) *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.Handle(strings.TrimSpace(r.method+" "+r.pattern), g.guard(r.access, r.handle))
	}
	return mux
}

// handler is everything the listener answers.
func (s *Server) handler() http.Handler {
	own := http.NewCrossOriginProtection()
	own.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden,
			"another site's page asked for this: act on the status page itself, or with a script")
	}))
	return secured(s.survived(s.forThisMachine(own.Handler(s.gate.handler(s.routes())))))
}

// survived answers a request that a bug ends, and tells of it.
func (s *Server) survived(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := panics.Caught(func() error {
			next.ServeHTTP(w, r)
			return nil
		})
		if bug, ok := errors.AsType[*panics.Error](err); ok {
			bug.Log(s.log, "in a request", slog.String("path", r.URL.Path))
			refuse(w, http.StatusInternalServerError, bug.Error()+"; the log has more")
		}
	})
}

// forThisMachine refuses requests to a listener on this machine under another name. Health checks
// have nothing to hide, and a token is enough.
func (s *Server) forThisMachine(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		health := r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
		if health || s.meant(r) || s.bearer(r) {
			next.ServeHTTP(w, r)
			return
		}
		refuse(w, http.StatusMisdirectedRequest,
			"this listener is for this machine, and the request is for "+strconv.Quote(r.Host)+
				": ask for localhost, or have the server in front send Host: localhost")
	})
}

// viaCatalog hands a request to the API, once there is one.
func (s *Server) viaCatalog(w http.ResponseWriter, r *http.Request) {
	if h := s.api.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	refuse(w, http.StatusServiceUnavailable, "the catalog is not open yet")
}

// secured sets the headers that keep a browser from doing more with our answers than intended.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
				"manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if strings.HasPrefix(r.URL.Path, "/api/") {
			h.Set("Cache-Control", "no-store")
		}
		next.ServeHTTP(w, r)
	})
}
