package catalog

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Metrics time the catalog's statements, and count those that fail and the events that are
// recorded.
type Metrics struct {
	seconds *prometheus.HistogramVec
	errors  *prometheus.CounterVec
	events  *prometheus.CounterVec
}

// NewMetrics registers the metrics; a nil registerer keeps them to themselves.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ttlproxy_catalog_seconds",
			Help:    "Time taken by the catalog's statements outside transactions, and by beginning transactions.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 8),
		}, []string{"kind"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ttlproxy_catalog_errors_total",
			Help: "Statements of the catalog that failed. Lost races (conflict) are retried.",
		}, []string{"reason"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ttlproxy_events_total", Help: "Events this node has recorded, as in SHOW TTL EVENTS.",
		}, []string{"kind"}),
	}

	for _, reason := range []string{"conflict", "timeout", "server", "connection"} {
		m.errors.WithLabelValues(reason)
	}

	if r != nil {
		r.MustRegister(m.seconds, m.errors, m.events)
	}

	return m
}

// done times a statement and counts how it failed.
func (m *Metrics) done(kind string, began time.Time, err error) {
	m.seconds.WithLabelValues(kind).Observe(time.Since(began).Seconds())
	m.failed(err)
}

func (m *Metrics) failed(err error) {
	if reason := failure(err); reason != "" {
		m.errors.WithLabelValues(reason).Inc()
	}
}

// failure is why a statement failed, in one word; empty when nobody needs to know.
func failure(err error) string {
	_, server := errors.AsType[*mysql.MySQLError](err)
	_, network := errors.AsType[net.Error](err)
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return ""
	case isServerError(err, ddl.CodeDeadlock, ddl.CodeSnapshot, ddl.CodeLockWait):
		return "conflict"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case server:
		return "server"
	case network, errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, driver.ErrBadConn), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF):
		return "connection"
	default:
		return "" // an answer: no such row, a lease that another node holds, a fence
	}
}

// pool is the catalog's connections, with a watch on them.
type pool struct {
	*sql.DB
	metrics *Metrics
}

// ExecContext runs a statement.
func (p pool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	began := time.Now()
	result, err := p.DB.ExecContext(ctx, query, args...)
	p.metrics.done("write", began, err)
	return result, err
}

// QueryContext runs a query.
func (p pool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	began := time.Now()
	rows, err := p.DB.QueryContext(ctx, query, args...)
	p.metrics.done("read", began, err)
	return rows, err
}

// QueryRowContext runs a query that returns one row.
func (p pool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	began := time.Now()
	row := p.DB.QueryRowContext(ctx, query, args...)
	p.metrics.done("read", began, row.Err())
	return row
}

// BeginTx begins a transaction.
func (p pool) BeginTx(ctx context.Context, options *sql.TxOptions) (*sql.Tx, error) {
	began := time.Now()
	tx, err := p.DB.BeginTx(ctx, options)
	p.metrics.done("begin", began, err)
	return tx, err
}
