package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/proxy"
)

// reloader adopts a changed configuration while the program runs. Existing sessions are not
// affected. Flags and the environment still take precedence over the file.
type reloader struct {
	*options
	server  *proxy.Server
	page    *page
	metrics *reloadMetrics
	log     *slog.Logger
}

// reloadMetrics say whether what the file says is in force.
type reloadMetrics struct {
	successful prometheus.Gauge
	restart    prometheus.Gauge
}

func newReloadMetrics(registry prometheus.Registerer) *reloadMetrics {
	m := &reloadMetrics{
		successful: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ttlproxy_config_last_reload_successful",
			Help: "Whether the configuration could be used when it was last read.",
		}),
		restart: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ttlproxy_config_restart_required",
			Help: "How many options have changed in the configuration and wait for a restart.",
		}),
	}

	registry.MustRegister(m.successful, m.restart)
	m.successful.Set(1)
	return m
}

// run reads the configuration again on SIGHUP and when its file has changed, until ctx ends.
func (r *reloader) run(ctx context.Context) error {
	const interval = 2 * time.Second
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)

	tick := time.NewTicker(interval)
	defer tick.Stop()

	for seen := modified(r.File); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-hangup:
		case <-tick.C:
			if modified(r.File).Equal(seen) {
				continue
			}
		}

		seen = modified(r.File)
		r.reload(ctx)
	}
}

// reload reports the result: nobody who has edited a file should have to guess.
func (r *reloader) reload(ctx context.Context) {
	r.supervisor.reloading(ctx)
	defer r.supervisor.tell(ctx, stateReady)

	waiting, err := r.apply()
	if err != nil {
		r.metrics.successful.Set(0)
		r.log.ErrorContext(ctx, "configuration cannot be used: the one in force stays", slog.Any("err", err))
		return
	}

	r.metrics.successful.Set(1)
	r.metrics.restart.Set(float64(len(waiting)))
	if len(waiting) > 0 {
		r.log.WarnContext(ctx, "configuration read again, but some of it needs a restart", slog.Any("options", waiting))
		return
	}

	r.log.InfoContext(ctx, "configuration read again")
}

// apply adopts what the file says now, and returns the options that wait for a restart. After a
// mistake, wherever it is, everything stays as it was.
func (r *reloader) apply() (waiting []string, err error) {
	fresh, err := r.again()
	if err != nil {
		return nil, err
	}

	waiting = r.outdated(fresh)
	fresh.EngineUser, fresh.Status = r.EngineUser, r.Status // whose connections are open, and where it listens
	if err := fresh.prepareBackends(); err != nil {
		return nil, err
	}

	token, err := fresh.statusToken()
	if err != nil {
		return nil, err
	}

	if err := r.server.Reload(fresh.Proxy, fresh.Backends); err != nil {
		return nil, err
	}

	r.page.adopt(token)
	r.password.follow(fresh.password)
	r.replicaPassword.follow(fresh.replicaPassword)
	r.level.Set(levelOf(fresh.LogLevel))
	return waiting, nil
}

// outdated lists the options that are read only when the program starts, and have changed since.
func (o *options) outdated(fresh *options) (names []string) {
	for _, row := range optionsOf("serve") {
		if row.once && row.bind(o).String() != row.bind(fresh).String() {
			names = append(names, row.name)
		}
	}
	return names
}

// modified is when a file was changed last, or nothing if there is none.
func modified(path string) time.Time {
	if path == "" {
		return time.Time{}
	}

	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
