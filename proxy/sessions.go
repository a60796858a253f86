package proxy

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Session is a client that is logged in.
type Session struct {
	ID       uint32 // the server's number of the connection
	Backend  string
	Client   string // its address, even behind a load balancer
	User     string // as the client spells it
	TLS      bool   // on the client's leg
	Since    time.Time
	Seconds  uint64 // since then
	Silent   uint64 // seconds since its last command
	Received uint64 // bytes from the client
	Sent     uint64 // bytes to the client
}

// Sessions are the clients of this proxy that are logged in, by the numbers that their servers have
// for them.
func (s *Server) Sessions() []Session {
	list := []Session{}
	s.each(func(e *session) {
		if v, ok := e.view(); ok {
			list = append(list, v)
		}
	})
	slices.SortFunc(list, func(a, b Session) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// view is what is known about a session, once it is logged in.
func (s *session) view() (v Session, loggedIn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loggedIn == 0 {
		return v, false
	}

	seconds := func(d time.Duration) uint64 { return uint64(max(d, 0) / time.Second) }
	return Session{
		ID: s.login.connectionID, Backend: s.place.Load().String(), Client: s.peer.String(), User: s.login.user,
		TLS: s.bridge.client.tls, Since: s.began, Seconds: seconds(time.Since(s.began)),
		Silent:   seconds(time.Duration(s.now() - s.silentSince)),
		Received: uint64(s.received.Load()), Sent: uint64(s.sent.Load()),
	}, true
}

// Sessions are those of the proxy that the exchange belongs to.
func (x *Exchange) Sessions() []Session { return x.s.server.Sessions() }

// Backend is the server that the client is logged in to.
func (x *Exchange) Backend() string { return x.s.place.Load().String() }

// Reasons why a session ends, as the connection log has them.
const (
	endedByClient  = "client left"
	endedByServer  = "server closed it"
	endedRefused   = "refused"
	endedIdle      = "idle for too long"
	endedDraining  = "draining"
	endedSwitched  = "new sessions go to another backend"
	endedVanished  = "a peer has vanished"
	endedUntimely  = "cut off: it took too long"
	endedOtherwise = "error"
)

// endBecause records why we end a session. The first reason stands.
func (s *session) endBecause(why string) { s.why.CompareAndSwap(nil, &why) }

// leavesBecause says why a session that should end as soon as it is idle does.
func (s *session) leavesBecause() string {
	if s.left() {
		return endedSwitched
	}
	return endedDraining
}

// ending is why a session has ended.
func (s *session) ending(err error) string {
	switch why := s.why.Load(); {
	case why != nil:
		return *why
	case errors.Is(err, errRefused):
		return endedRefused
	case err == nil, errors.Is(err, errClientGone), s.quits.Load():
		return endedByClient
	case errors.Is(err, io.EOF):
		return endedByServer
	case errors.Is(err, net.ErrClosed):
		return endedUntimely
	default:
		return endedOtherwise
	}
}

// logConnection writes a line about a session that has ended.
func (s *session) logConnection(err error) {
	if s.login.connectionID == 0 && !errors.Is(err, errRefused) {
		return // somebody has only looked whether we are there
	}

	line := []any{
		slog.String("client", s.peer.String()), slog.String("user", s.login.user),
		slog.Duration("took", time.Since(s.began)), slog.Int64("received", s.received.Load()),
		slog.Int64("sent", s.sent.Load()), slog.String("ended", s.ending(err)),
	}
	if p := s.place.Load(); p != nil {
		line = append(line, slog.String("backend", p.String()))
	}
	if err != nil && !ordinary(err) {
		line = append(line, slog.Any("err", err))
	}
	s.log.Info("connection", line...)
}

var (
	descBackendSessions = prometheus.NewDesc("ttlproxy_backend_sessions",
		"Sessions of clients that are open now, by the backend they are on.", []string{"backend"}, nil)
	descBytes = prometheus.NewDesc("ttlproxy_bytes_total",
		"Bytes of clients' sessions that the proxy has written, to backends and to clients.", []string{"to"}, nil)
	descLimit = prometheus.NewDesc("ttlproxy_sessions_limit",
		"How many sessions there may be: max-connections, or as many as there are file descriptors for.", nil, nil)
)

// Describe says which metrics are read from the sessions.
func (*Server) Describe(to chan<- *prometheus.Desc) {
	to <- descBackendSessions
	to <- descBytes
	to <- descLimit
}

// Collect adds up what the sessions say.
func (s *Server) Collect(to chan<- prometheus.Metric) {
	on := make(map[string]int)
	for _, h := range s.backends.Health() {
		on[h.Address] = 0
	}

	s.mu.Lock()
	received, sent := s.received, s.sent
	for e := range s.sessions {
		received += e.received.Load()
		sent += e.sent.Load()
		if p := e.place.Load(); p != nil {
			on[p.String()]++
		}
	}
	s.mu.Unlock()

	for backend, n := range on {
		to <- prometheus.MustNewConstMetric(descBackendSessions, prometheus.GaugeValue, float64(n), backend)
	}
	to <- prometheus.MustNewConstMetric(descBytes, prometheus.CounterValue, float64(received), "backend")
	to <- prometheus.MustNewConstMetric(descBytes, prometheus.CounterValue, float64(sent), "client")
	to <- prometheus.MustNewConstMetric(descLimit, prometheus.GaugeValue, float64(s.settings.Load().MaxConnections))
}
