package proxy

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"time"
)

// Reload adopts another configuration of both legs for what happens from now on: existing sessions
// keep what they have. Files are read again. If something is wrong with either, everything stays as
// it was. The addresses to listen on stay as they were in any case.
func (s *Server) Reload(c Config, b BackendsConfig) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()

	clients, err := c.load(s.settings.Load())
	if err != nil {
		return err
	}
	servers, err := b.load()
	if err != nil {
		return err
	}

	s.adopt(clients)
	s.backends.adopt(servers)
	return nil
}

// adopt puts settings in force, but for what takes a restart.
func (s *Server) adopt(loaded *settings) {
	old := s.settings.Load()
	if !slices.Equal(old.Listen, loaded.Listen) {
		s.log.Warn("addresses to listen on change only with a restart", slog.Any("listen", old.Listen))
		loaded.Listen, loaded.listen = old.Listen, old.listen
	}
	loaded.Handler = old.Handler
	s.settings.Store(loaded)
}

// watch does, from time to time, what nothing else triggers: it reads certificates that have
// changed, and closes sessions that have been silent for too long.
func (s *Server) watch(ctx context.Context) {
	const interval = time.Second
	files := stampsOf(s.certificates())
	for rest(ctx, interval) {
		if now := stampsOf(s.certificates()); !slices.Equal(now, files) {
			files = now
			s.reloadCertificates()
		}
		if c := s.settings.Load(); c.IdleTimeout > 0 || c.IdleTransactionTimeout > 0 {
			s.each(func(e *session) { e.closeIfSilent(c) })
		}
	}
}

// certificates are the files of both legs, and of their keys.
func (s *Server) certificates() []string {
	c := s.settings.Load()
	return slices.Concat(c.TLS.files(), []string{c.RSAKeyFile}, s.backends.files())
}

// reloadCertificates reads the files of both legs, each by itself. While one half of a pair is new
// and the other still old, they do not match: then the next change brings the rest.
func (s *Server) reloadCertificates() {
	s.reloading.Lock()
	defer s.reloading.Unlock()

	old := s.settings.Load()
	clients, err := old.load(old)
	if err == nil {
		s.adopt(clients)
	}
	if err := errors.Join(err, s.backends.reloadFiles()); err != nil {
		s.log.Warn("certificates have changed and cannot be used: those in force stay", slog.Any("err", err))
		return
	}
	s.log.Info("certificates read again")
}

// stamp shows whether a file has changed.
type stamp struct {
	name     string
	modified int64
	size     int64
}

func stampsOf(files []string) []stamp {
	stamps := make([]stamp, 0, len(files))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil { // also through a symbolic link, as those of Kubernetes' secrets
			stamps = append(stamps, stamp{f, info.ModTime().UnixNano(), info.Size()})
		}
	}
	return stamps
}
