package proxy

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestReloadIsWholeOrNothing: a mistake in one leg leaves the other as it was, too.
func TestReloadIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	old := BackendsConfig{Addresses: []string{"127.0.0.1:1"}, CheckInterval: time.Hour}
	p := startEdge(t, old, Config{MaxConnections: 7})
	inForce := p.settings.Load().Config
	clients, servers := inForce, old
	clients.MaxConnections, servers.Addresses = 8, []string{"127.0.0.1:2"}
	lost, unread := clients, servers
	lost.TLS.CertFile, lost.TLS.KeyFile = "/not/there", "/not/there"
	unread.Addresses = []string{"127.0.0.1:2", "127.0.0.1:3?unknown=option"}

	adopted := func() (int, []string) {
		var addresses []string
		for _, h := range p.backends.Health() {
			addresses = append(addresses, h.Address)
		}
		return p.settings.Load().MaxConnections, addresses
	}

	for _, c := range []struct {
		clients Config
		servers BackendsConfig
		good    bool
		most    int
		at      string
	}{
		{lost, servers, false, 7, "127.0.0.1:1"},
		{clients, unread, false, 7, "127.0.0.1:1"},
		{clients, servers, true, 8, "127.0.0.1:2"},
	} {
		err := p.Reload(c.clients, c.servers)
		if most, at := adopted(); (err == nil) != c.good || most != c.most || !slices.Equal(at, []string{c.at}) {
			t.Errorf("got %v, and %d connections to %v, want %d to %s", err, most, at, c.most, c.at)
		}
	}
}

// TestCertificatesBringNoOldConfigurationBack: files are looked at again while a new configuration comes into force.
func TestCertificatesBringNoOldConfigurationBack(t *testing.T) {
	t.Parallel()
	cert, key := newAuthority(t).issue(t, "proxy", "localhost")
	servers := BackendsConfig{Addresses: []string{"127.0.0.1:1"}, CheckInterval: time.Hour}
	p := startEdge(t, servers, Config{TLS: ClientTLS{CertFile: cert, KeyFile: key}})
	c := p.settings.Load().Config
	for n := range 200 {
		c.MaxConnections, servers.DialTimeout = n+1, time.Duration(n+1)
		var watch sync.WaitGroup
		watch.Go(func() { _ = errors.Join(p.readClientFiles(), p.readServerFiles()) })
		if err := p.Reload(c, servers); err != nil {
			t.Fatal(err)
		}

		watch.Wait()
		p.backends.mu.Lock()
		most, patience := p.settings.Load().MaxConnections, p.backends.config.DialTimeout
		p.backends.mu.Unlock()
		if most != n+1 || patience != time.Duration(n+1) {
			t.Fatalf("got %d connections and %d ns, want %d of each", most, patience, n+1)
		}
	}
}

// TestReloadReplacesTheRSAKey: the next sessions have the key that is in the file now, and one that cannot be used
// leaves the old one. A key that was made because no file is named stays.
func TestReloadReplacesTheRSAKey(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key.pem")
	write := func() (public []byte) {
		t.Helper()
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := newRSAPair(key)
		if err != nil {
			t.Fatal(err)
		}
		writePEM(t, file, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
		return pair.public
	}

	servers := BackendsConfig{Addresses: []string{"127.0.0.1:1"}, CheckInterval: time.Hour}
	p := startEdge(t, servers, Config{})
	shown := func() []byte {
		t.Helper()
		pair, err := p.settings.Load().rsaKey.get()
		if err != nil {
			t.Fatal(err)
		}
		return pair.public
	}
	check := func(what, file string, good bool, want []byte) {
		t.Helper()
		c := p.settings.Load().Config
		c.RSAKeyFile = file
		if err := p.Reload(c, servers); (err == nil) != good {
			t.Errorf("%s: got %v", what, err)
		}
		if got := shown(); !bytes.Equal(got, want) {
			t.Errorf("%s: the key is another one", what)
		}
	}

	check("no file", "", true, shown())
	check("a file", file, true, write())
	last := write()
	check("another key in it", file, true, last)
	check("no such file", file+".none", false, last)
	writePEM(t, file, "RSA PRIVATE KEY", []byte("none"))
	check("no key in it", file, false, last)

	renewed := write()
	await(t, func() bool { return bytes.Equal(shown(), renewed) })
}

// usable is what the metric says of the files of a leg.
func (e *edge) usable(t *testing.T, leg string) float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(e.metrics.usable)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range families[0].GetMetric() {
		if m.GetLabel()[0].GetValue() == leg {
			return m.GetGauge().GetValue()
		}
	}
	t.Fatalf("nothing is said of the leg %s", leg)
	return 0
}

// TestCertificatesAreTriedAgain: files that cannot be used are said to be, once, and read until they can, whatever has
// been mended about them: the time and the size of a file say nothing of who may read it. The other leg is left alone.
func TestCertificatesAreTriedAgain(t *testing.T) {
	t.Parallel()
	cert, key := newAuthority(t).issue(t, "proxy", "localhost")
	p := startEdge(t, BackendsConfig{Addresses: []string{"127.0.0.1:1"}, CheckInterval: time.Hour},
		Config{TLS: ClientTLS{CertFile: cert, KeyFile: key}})
	good, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(key, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(key, time.Unix(2_000_000_000, 0), time.Unix(2_000_000_000, 0)); err != nil {
			t.Fatal(err)
		}
	}
	said := func(what string) int { return strings.Count(p.logged.String(), what) }
	if client, server := p.usable(t, "client"), p.usable(t, "server"); client != 1 || server != 1 {
		t.Errorf("at start: %v and %v, want 1", client, server)
	}

	inForce := p.settings.Load().tls
	write(bytes.Repeat([]byte{'x'}, len(good)))
	await(t, func() bool { return p.usable(t, "client") == 0 })
	rest(t.Context(), 2500*time.Millisecond) // it is tried twice more
	if n := said("cannot be used"); n != 1 || p.settings.Load().tls != inForce {
		t.Errorf("said %d times, want once, and what was in force stays: %v", n, p.settings.Load().tls == inForce)
	}

	write(good)
	await(t, func() bool { return said("certificates read again") > 0 })
	await(t, func() bool { return p.usable(t, "client") == 1 })
	if said("certificates read again") != 1 || p.settings.Load().tls == inForce || p.usable(t, "server") != 1 {
		t.Error("the certificate was not read again, or something else was")
	}
}
