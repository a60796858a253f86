package proxy

import (
	"context"
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
	for rest(ctx, interval) {
		for _, l := range s.files {
			s.follow(l)
		}
		if c := s.settings.Load(); c.IdleTimeout > 0 || c.IdleTransactionTimeout > 0 {
			s.each(func(e *session) { e.closeIfSilent(c) })
		}
	}
}

// legFiles are the certificates, authorities and keys of a leg.
type legFiles struct {
	leg     string
	names   func() []string
	read    func() error // and adopts them
	seen    []stamp
	trouble string // why they cannot be used; empty if they can
}

// legs are the files of both as they are now, when they have been read.
func (s *Server) legs() []*legFiles {
	all := []*legFiles{
		{leg: "client", names: s.clientFiles, read: s.readClientFiles},
		{leg: "server", names: s.backends.files, read: s.readServerFiles},
	}
	for _, l := range all {
		l.seen = stampsOf(l.names())
	}
	return all
}

// follow reads the files of a leg if they have changed. Those that cannot be used are tried again until they can: a
// stamp does not show that somebody has mended the rights on a file.
func (s *Server) follow(l *legFiles) {
	now := stampsOf(l.names())
	if l.trouble == "" && slices.Equal(now, l.seen) {
		return
	}

	was := l.trouble
	l.seen, l.trouble = now, ""
	err := l.read()
	s.metrics.filesRead(l.leg, err)
	if err == nil {
		s.log.Info("certificates read again", slog.String("leg", l.leg))
		return
	}

	if l.trouble = err.Error(); l.trouble != was {
		s.log.Warn("certificates have changed and cannot be used: those in force stay", slog.String("leg", l.leg),
			slog.Any("err", err))
	}
}

func (s *Server) clientFiles() []string {
	c := s.settings.Load()
	return append(c.TLS.files(), c.RSAKeyFile)
}

// readClientFiles reads the files of the clients' leg. While one half of a pair is new and the other still old, they do
// not match: then the next try brings the rest.
func (s *Server) readClientFiles() error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	old := s.settings.Load()
	loaded, err := old.load(old)
	if err == nil {
		s.adopt(loaded)
	}
	return err
}

// readServerFiles does so for the leg to the servers.
func (s *Server) readServerFiles() error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	return s.backends.reloadFiles()
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
