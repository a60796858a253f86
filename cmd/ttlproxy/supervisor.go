package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// supervisor is who has started this process and wants to know how it is, in systemd's way: see
// sd_notify(3). Without one nothing is said.
type supervisor struct {
	socket string // its address; an @ at the beginning stands for a zero byte
	every  time.Duration
	log    *slog.Logger
}

// What it is told.
const (
	stateReady    = "READY=1"
	stateStopping = "STOPPING=1"
	stateAlive    = "WATCHDOG=1"
)

// newSupervisor finds it in the environment.
func newSupervisor(getenv func(string) (string, bool), log *slog.Logger) *supervisor {
	s := &supervisor{log: log}
	s.socket, _ = getenv("NOTIFY_SOCKET")
	pid, named := getenv("WATCHDOG_PID")
	limit, _ := getenv("WATCHDOG_USEC")
	if n, err := strconv.ParseInt(limit, 10, 64); err == nil && n > 0 && (!named || pid == strconv.Itoa(os.Getpid())) {
		s.every = time.Duration(n) * time.Microsecond / 2
	}
	return s
}

// tell says something.
func (s *supervisor) tell(ctx context.Context, states ...string) {
	if s == nil || s.socket == "" {
		return
	}

	var d net.Dialer
	c, err := d.DialContext(context.WithoutCancel(ctx), "unixgram", s.socket)
	if err == nil {
		_, err = c.Write([]byte(strings.Join(states, "\n")))
		c.Close()
	}
	if err != nil {
		s.log.WarnContext(ctx, "cannot tell systemd how this process is", slog.Any("err", err))
	}
}

// reloading says that the configuration is being read, until ready is said again.
func (s *supervisor) reloading(ctx context.Context) {
	s.tell(ctx, "RELOADING=1", "MONOTONIC_USEC="+strconv.FormatInt(monotonic().Microseconds(), 10))
}

// run says that the process is alive for as long as it has to.
func (s *supervisor) run(ctx context.Context) error {
	if s == nil || s.every == 0 {
		return nil
	}

	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		s.tell(ctx, stateAlive)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
