package proxy

import (
	"slices"
	"sync"
	"testing"
	"time"
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
		watch.Go(p.reloadCertificates)
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
