package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy"
)

// watchConfig reads the configuration again on SIGHUP and when its file has changed, until ctx ends. Sessions go on as they are;
// certificates, limits, backends and the log's level are new for what comes after. Flags and the environment still win over the file. The rest
// needs a restart.
func watchConfig(ctx context.Context, o *options, backends *proxy.Backends, server *proxy.Server, log *slog.Logger) error {
	const interval = 2 * time.Second
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for seen := modified(o.File); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-hangup:
		case <-tick.C:
			if modified(o.File).Equal(seen) {
				continue
			}
		}
		seen = modified(o.File)
		if err := reload(o, backends, server); err != nil {
			log.ErrorContext(ctx, "configuration cannot be used: the one in force stays", slog.Any("err", err))
			continue
		}
		log.InfoContext(ctx, "configuration read again")
	}
}

// reload takes over what the file says now. A mistake in one part leaves the parts behind it as they were.
func reload(o *options, backends *proxy.Backends, server *proxy.Server) error {
	fresh, err := o.again()
	if err != nil {
		return err
	}
	if err := fresh.prepareBackends(); err != nil {
		return err
	}
	if err := backends.Reload(fresh.Backends); err != nil {
		return err
	}
	if err := server.Reload(fresh.Proxy); err != nil {
		return err
	}
	o.level.Set(levelOf(fresh.LogLevel))
	return nil
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
