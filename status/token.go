package status

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
)

// access says what a request needs.
type access int

const (
	open      access = iota // nothing: anybody who reaches the listener
	needToken               // the token
	profiling               // the token, or a client on this machine when none is configured
)

// gate lets requests through that have what their route needs. Its token may be another one at the next request.
type gate struct {
	token *atomic.Pointer[string]
}

func newGate(token string) gate {
	g := gate{new(atomic.Pointer[string])}
	g.token.Store(&token)
	return g
}

// CheckToken refuses a token that is guessed, not known. None is no mistake.
func CheckToken(token string) error {
	if token != "" && len(token) < minToken {
		return fmt.Errorf("status token: want at least %d characters, got %d", minToken, len(token))
	}
	return nil
}

// SetToken replaces the token, one that CheckToken lets pass: from now on the old one is worth nothing.
func (s *Server) SetToken(token string) { s.token.Store(&token) }

// hasToken reports whether there is one. Without it nothing can be changed over HTTP.
func (g gate) hasToken() bool { return *g.token.Load() != "" }

// bearer reports whether the request carries the configured token.
func (g gate) bearer(r *http.Request) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	token := *g.token.Load()
	if !ok || token == "" {
		return false
	}
	// Hashes have one length, so that the comparison tells nothing about the token's.
	x, y := sha256.Sum256([]byte(strings.TrimSpace(given))), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// reader is true for whoever may see what SHOW TTL shows only to accounts that may read the table itself
// (report.Column.Secret): the bearer of the token.
type reader bool

func (g gate) readerOf(r *http.Request) reader { return reader(g.bearer(r)) }

// secret is empty for a reader who may not see the value.
func secret[T any](who reader, value T) (shown T) {
	if who {
		shown = value
	}
	return shown
}

// guard puts the gate in front of a handler.
func (g gate) guard(need access, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case need == open, g.bearer(r), need == profiling && !g.hasToken() && local(r):
			next(w, r)
		case !g.hasToken():
			refuse(w, http.StatusForbidden,
				"no token is configured: start ttlproxy with --status-token-file to allow this")
		default:
			w.Header().Set("WWW-Authenticate", `Bearer realm="ttlproxy"`)
			refuse(w, http.StatusUnauthorized, "this needs the status token: send it as Authorization: Bearer …")
		}
	})
}

// local reports whether the client is on this machine and addresses it: another site's page whose
// name resolves to this machine still sends that name as Host.
func local(r *http.Request) bool {
	if _, ok := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr); ok {
		return true
	}
	peer, _, err := net.SplitHostPort(r.RemoteAddr)
	return err == nil && loopback(peer) && localName(hostOf(r.Host))
}

// meant reports whether a client of a listener for this machine only addresses that listener: no
// other site's page may read, through a browser here, what is shown to this machine alone.
func (s *Server) meant(r *http.Request) bool {
	to, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !to.IP.IsLoopback() {
		return true
	}
	_, listen := splitAddress(s.cfg.Listen)
	host := hostOf(r.Host)
	return host == "" || localName(host) || strings.EqualFold(host, hostOf(listen))
}

// hostOf is an address without its port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

func localName(host string) bool { return host == "localhost" || loopback(strings.Trim(host, "[]")) }

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
