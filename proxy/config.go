package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// Config says where the proxy listens and where its backend is.
type Config struct {
	// Listen are the addresses to accept clients on: HOST:PORT or unix:PATH.
	Listen []string
	// Backends are the servers, in order of preference: HOST:PORT or unix:PATH.
	Backends []string
	// CertFile and KeyFile are the certificate shown to clients. Without them clients cannot ask for TLS.
	CertFile, KeyFile string
	// DialTimeout bounds the time to reach a backend; 0 means 10 seconds.
	DialTimeout time.Duration
	// LoginTimeout bounds the time between two packets of a login; 0 means 30 seconds.
	LoginTimeout time.Duration
	// DrainTimeout is how long sessions in the middle of something may go on after Run was told to stop; 0 means 10 seconds.
	DrainTimeout time.Duration
}

func (c *Config) setDefaults() error {
	if len(c.Listen) == 0 {
		return errors.New("no address to listen on")
	}
	if len(c.Backends) == 0 {
		return errors.New("no backend")
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return errors.New("a certificate needs its key, and a key its certificate")
	}
	for _, a := range append(append([]string(nil), c.Listen...), c.Backends...) {
		if network, address := splitAddress(a); network == "tcp" {
			if _, _, err := net.SplitHostPort(address); err != nil {
				return fmt.Errorf("address %q: want HOST:PORT or unix:PATH", a)
			}
		}
	}
	c.DialTimeout = cmp.Or(c.DialTimeout, 10*time.Second)
	c.LoginTimeout = cmp.Or(c.LoginTimeout, 30*time.Second)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 10*time.Second)
	return nil
}

// splitAddress splits HOST:PORT or unix:PATH into what package net wants to know.
func splitAddress(s string) (network, address string) {
	if path, ok := strings.CutPrefix(s, "unix:"); ok {
		return "unix", path
	}
	return "tcp", s
}
