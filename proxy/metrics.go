package proxy

import (
	"crypto/tls"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// Metrics are what the data plane counts. All sessions share them, so that nothing is looked up for
// a statement.
type Metrics struct {
	sessions prometheus.Gauge
	panics   prometheus.Counter
	idle     prometheus.Counter
	draining prometheus.Gauge
	refused  *prometheus.CounterVec
	opaque   *prometheus.CounterVec
	holding  prometheus.Gauge
	logins   *prometheus.CounterVec
	waiting  prometheus.Gauge
	slips    *prometheus.CounterVec
	shaken   *prometheus.CounterVec
	usable   *prometheus.GaugeVec
	locks    prometheus.Counter
	seconds  prometheus.Histogram
	added    prometheus.Histogram
	outcomes [256][2]prometheus.Counter // by command; failed or not

	latencies  latencies
	lockErrors atomic.Uint64
}

// NewMetrics makes the metrics and registers them. A nil registerer keeps them private.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		sessions: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ttlproxy_sessions", Help: "Sessions of clients that are open now.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ttlproxy_session_panics_total", Help: "Sessions that ended because of a bug in the proxy.",
		}),
		idle: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ttlproxy_sessions_idle_closed_total",
			Help: "Sessions that were closed because they were silent for too long.",
		}),
		draining: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ttlproxy_draining", Help: "1 while the proxy is about to stop and lets its sessions end.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ttlproxy_refused_total", Help: "Clients that the proxy itself has turned away.",
		}, []string{"reason"}),
		opaque: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ttlproxy_sessions_opaque_total",
			Help: "Sessions that pass unseen from some point on, by the reason: stream (a replica or the like reads " +
				"the binlog), or that the proxy does not understand them: command, unasked, answer, silence, file.",
		}, []string{"reason"}),
		holding: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ttlproxy_statements_held", Help: "Statements that are held back and decided on now.",
		}),
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ttlproxy_logins_total",
			Help: "Logins by how they ended: ok, refused by the server or by the proxy, or broken off.",
		}, []string{"outcome"}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ttlproxy_logins_waiting",
			Help: "Clients that wait because max-logins others are logging in.",
		}),
		slips: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ttlproxy_handshake_errors_total",
			Help: "Logins that a backend has counted against this host (max_connect_errors).",
		}, []string{"backend"}),
		shaken: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ttlproxy_tls_handshakes_total",
			Help: "TLS handshakes by leg (client, server) and by how they ended: full, resumed, or failed.",
		}, []string{"leg", "outcome"}),
		usable: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "ttlproxy_certificates_last_reload_successful",
			Help: "Whether the certificates, authorities and keys of a leg (client, server) could be used when their " +
				"files were last read because they had changed.",
		}, []string{"leg"}),
		locks: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ttlproxy_lock_errors_total",
			Help: "Client commands that the server has refused for the locks of others: waits that took too long " +
				"(1205), deadlocks (1213), conflicts in a group (3101).",
		}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "ttlproxy_command_seconds",
			Help:    "Time from when a client's command could go to the server until the end of its response.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
		}),
		added: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ttlproxy_added_seconds",
			Help: "Time by which client statements took longer because the proxy examined them: from when they " +
				"could have gone to the server until their answer, without the server's part. Statements that are " +
				"not held back are not counted, nor those that the proxy answers itself.",
			Buckets: prometheus.ExponentialBuckets(0.00001, 4, 10),
		}),
	}

	commands := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "ttlproxy_commands_total", Help: "Client commands that have been answered, by the server or by the " +
			"proxy.",
	}, []string{"command", "outcome"})
	other := [2]prometheus.Counter{commands.WithLabelValues("other", "ok"), commands.WithLabelValues("other", "error")}
	for c := range m.outcomes {
		m.outcomes[c] = other
		if name := wire.Command(c).String(); name[:2] != "0x" {
			m.outcomes[c] = [2]prometheus.Counter{
				commands.WithLabelValues(name, "ok"),
				commands.WithLabelValues(name, "error"),
			}
		}
	}

	m.filesRead("client", nil)
	m.filesRead("server", nil)
	for _, reason := range wire.Losses() {
		m.opaque.WithLabelValues(reason)
	}
	if r != nil {
		r.MustRegister(m.sessions, m.panics, m.idle, m.draining, m.refused, m.opaque, m.holding, m.logins, m.shaken,
			m.usable, m.waiting, m.slips, m.seconds, m.added, commands, m.locks)
	}

	return m
}

// command counts a command that has been answered.
func (m *Metrics) command(r wire.Report, took int64) {
	failed := 0
	if r.Failed() {
		failed = 1
		if ofLocks(r.Code) {
			m.locks.Inc()
			m.lockErrors.Add(1)
		}
	}
	m.outcomes[r.Command][failed].Inc()
	m.seconds.Observe(time.Duration(took).Seconds())
	if r.Command == wire.Query || r.Command == wire.Execute {
		m.latencies.add(took)
	}
}

// heldBack counts a statement that was held back, and how much longer it took for that.
func (m *Metrics) heldBack(added int64) { m.added.Observe(time.Duration(added).Seconds()) }

// lost counts a session that is not followed any more.
func (m *Metrics) lost(why wire.Loss) { m.opaque.WithLabelValues(why.String()).Inc() }

// handshake counts a TLS handshake on a leg.
func (m *Metrics) handshake(leg string, c *tls.Conn, err error) {
	outcome := "full"
	switch {
	case err != nil:
		outcome = "failed"
	case c.ConnectionState().DidResume:
		outcome = "resumed"
	}
	m.shaken.WithLabelValues(leg, outcome).Inc()
}

// filesRead shows whether the files of a leg could be used.
func (m *Metrics) filesRead(leg string, err error) {
	usable := 1.0
	if err != nil {
		usable = 0
	}
	m.usable.WithLabelValues(leg).Set(usable)
}

// login counts a finished login.
func (m *Metrics) login(err error) {
	outcome := "ok"
	switch {
	case errors.Is(err, errRefused):
		outcome = "refused"
	case err != nil:
		outcome = "broken"
	}
	m.logins.WithLabelValues(outcome).Inc()
}

// refuse counts a client that was turned away.
func (m *Metrics) refuse(e *wire.Error) {
	reason, ok := refusals[e.Code]
	if !ok {
		reason = "protocol"
	}
	m.refused.WithLabelValues(reason).Inc()
}

// refusals names the errors with which clients are turned away.
var refusals = map[uint16]string{
	ddl.CodeTooManyConnections: "connections", ddl.CodeTooManyOfUser: "user_connections", ddl.CodeTLSRequired: "no_tls",
	ddl.CodeCannotConnect: "no_backend", ddl.CodeTLS: "tls", ddl.CodeAccessDenied: "password",
}
