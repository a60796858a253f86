package status

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/unixsocket"
)

// shutdownTimeout is how long pending answers may take once Run has been told to stop.
const shutdownTimeout = 3 * time.Second

// Server is the status listener.
type Server struct {
	gate
	cfg      Config
	gatherer prometheus.Gatherer
	log      *slog.Logger
	listener net.Listener
	api      atomic.Pointer[http.Handler]
}

// New binds the address, so that a mistake in it shows at once. Run serves; the page and the API
// wait for Open.
func New(ctx context.Context, cfg Config, gatherer prometheus.Gatherer, log *slog.Logger) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	network, address := splitAddress(cfg.Listen)
	listener, err := unixsocket.Listen(ctx, net.ListenConfig{}, network, address)
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	return &Server{gate: newGate(cfg.Token), cfg: cfg, gatherer: gatherer, log: log, listener: listener}, nil
}

// Open tells the server that the catalog is there. Previews read user tables on db.
func (s *Server) Open(store Store, db tables.Querier) {
	h := newAPI(s.gate, s.cfg, store, db, s.log).handler()
	s.api.Store(&h)
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Run serves until ctx ends, and then lets pending answers finish.
func (s *Server) Run(ctx context.Context) error {
	server := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}

	s.log.InfoContext(ctx, "status listening", slog.String("address", s.Addr().String()),
		slog.Bool("actions", s.hasToken()))
	var g errgroup.Group
	stopped := make(chan struct{})
	g.Go(func() error {
		select {
		case <-ctx.Done():
		case <-stopped:
		}

		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()

		if err := server.Shutdown(end); err != nil {
			return server.Close()
		}

		return nil
	})

	err := server.Serve(s.listener)
	close(stopped)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}

	return errors.Join(err, g.Wait())
}
