package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// clientOf opens one connection through a proxy as an account with all rights.
func clientOf(t *testing.T, s *mysqltest.Server, address string, t2 *tls.Config) (*sql.Conn, error) {
	t.Helper()
	c := s.Config("")
	c.Addr, c.TLS, c.Logger = address, t2, &mysql.NopLogger{}
	return mysqltest.Open(t, c).Conn(t.Context())
}

// trust is a client that verifies the proxy's certificate, and shows one of its own if there is
// one.
func (a *authority) trust(t *testing.T, certFile, keyFile string) *tls.Config {
	t.Helper()
	pool, err := loadAuthorities(a.file)
	if err != nil {
		t.Fatal(err)
	}

	c := &tls.Config{RootCAs: pool, ServerName: "db.example.com"}
	if certFile != "" {
		cert, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{cert}
	}

	return c
}

func TestBackendCertificateIsVerified(t *testing.T) {
	if _, err := net.DefaultResolver.LookupHost(t.Context(), "localhost"); err != nil {
		t.Skip("this machine does not know localhost:", err)
	}
	bothWithTLS(t, []string{"127.0.0.1"}, func(t *testing.T, s *mysqltest.Server, a *authority) {
		other := newAuthority(t)
		_, port, _ := strings.Cut(s.Addr(), ":")
		_, unknown := net.LookupHost("localhost") // a machine may have no names at all
		for _, c := range []struct {
			name, address string
			tls           BackendTLS
			want          string // what the error tells
		}{
			{"identity", s.Addr(), BackendTLS{Mode: TLSAlways, Verify: VerifyIdentity, CAFile: a.file}, ""},
			{"ca", s.Addr(), BackendTLS{Mode: TLSAlways, Verify: VerifyCA, CAFile: a.file}, ""},
			{
				"ca, another name", "localhost:" + port,
				BackendTLS{Mode: TLSAlways, Verify: VerifyCA, CAFile: a.file},
				"",
			},
			{
				"identity, another name", "localhost:" + port,
				BackendTLS{Mode: TLSAlways, Verify: VerifyIdentity, CAFile: a.file},
				"valid for",
			},
			{
				"ca, another authority", s.Addr(),
				BackendTLS{Mode: TLSAlways, Verify: VerifyCA, CAFile: other.file},
				"unknown authority",
			},
			{
				"identity, another authority", s.Addr(),
				BackendTLS{Mode: TLSAlways, Verify: VerifyIdentity, CAFile: other.file},
				"unknown authority",
			},
			{"nothing", s.Addr(), BackendTLS{Mode: TLSAlways}, ""},
		} {
			if unknown != nil && strings.HasPrefix(c.address, "localhost:") {
				t.Logf("%s: left out: %v", c.name, unknown)
				continue
			}

			p := startEdge(t, BackendsConfig{Addresses: []string{c.address}, TLS: c.tls}, Config{})
			_, err := clientOf(t, s, p.address, nil)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("client, %s: got %v, want %q", c.name, err, c.want)
			}
			if c.want == "" {
				resumes(t, s, p)
			}

			own := s.Config("")
			own.Logger = &mysql.NopLogger{}
			p.backends.Configure(own, nil)

			err = mysqltest.Open(t, own).PingContext(t.Context())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("engine, %s: got %v, want %q", c.name, err, c.want)
			}
		}
	})
}

// resumes lets clients come and go: but for the first, their connections to the server resume a
// session of TLS.
func resumes(t *testing.T, s *mysqltest.Server, p *edge) {
	t.Helper()
	const clients = 20
	for range clients {
		c, err := clientOf(t, s, p.address, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	if n := countOf(t, p.metrics.shaken, "server", "resumed"); n < 0.9*clients {
		t.Errorf("%v of %d connections resumed a session, want 9 of 10", n, clients)
	}
}

func TestClientsMustUseTLS(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		p := startEdge(t, BackendsConfig{Addresses: []string{s.Addr()}, TLS: BackendTLS{Mode: TLSNever}},
			Config{TLS: ClientTLS{SelfSigned: true, Require: true}})
		if _, err := clientOf(t, s, p.address, nil); err == nil || !strings.Contains(err.Error(), "3159") {
			t.Errorf("without TLS: got %v, want 3159", err)
		}
		if _, err := clientOf(t, s, p.address, &tls.Config{InsecureSkipVerify: true}); err != nil {
			t.Errorf("with TLS: %v", err)
		}

		old := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}
		if _, err := clientOf(t, s, p.address, old); err == nil {
			t.Error("TLS 1.1 was accepted")
		}
	})
}

func TestClientCertificates(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		a, other := newAuthority(t), newAuthority(t)
		cert, key := a.issue(t, "proxy", "db.example.com")
		p := startEdge(t, BackendsConfig{Addresses: []string{s.Addr()}, TLS: BackendTLS{Mode: TLSNever}},
			Config{TLS: ClientTLS{CertFile: cert, KeyFile: key, ClientCAFile: a.file}})

		ours, oursKey := a.issue(t, "client")
		if _, err := clientOf(t, s, p.address, a.trust(t, ours, oursKey)); err != nil {
			t.Errorf("with a certificate: %v", err)
		}

		theirs, theirsKey := other.issue(t, "client")
		for name, c := range map[string]*tls.Config{
			"no TLS": nil, "no certificate": a.trust(t, "", ""),
			"another authority's": a.trust(t, theirs, theirsKey),
		} {
			if _, err := clientOf(t, s, p.address, c); err == nil {
				t.Errorf("%s: was let in", name)
			}
		}
	})
}

// A certificate that changes is shown to the next client; sessions that are there go on.
func TestCertificateIsReadAgain(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		a := newAuthority(t)
		cert, key := a.issue(t, "proxy", "db.example.com")
		p := startEdge(t, BackendsConfig{Addresses: []string{s.Addr()}, TLS: BackendTLS{Mode: TLSNever}},
			Config{TLS: ClientTLS{CertFile: cert, KeyFile: key}})
		var seen *x509.Certificate
		remember := a.trust(t, "", "")
		remember.VerifyConnection = func(c tls.ConnectionState) error { seen = c.PeerCertificates[0]; return nil }

		before, err := clientOf(t, s, p.address, remember)
		if err != nil {
			t.Fatal(err)
		}

		first := seen
		if err := os.WriteFile(key, []byte("half of it"), 0o600); err != nil { // which keeps the old one in force
			t.Fatal(err)
		}

		if err := p.readClientFiles(); err == nil {
			t.Error("half of a key was taken for one")
		}
		a.issue(t, "proxy", "db.example.com")
		deadline := time.Now().Add(time.Minute)
		for seen.Equal(first) {
			if time.Now().After(deadline) {
				t.Fatal("the new certificate was not shown")
			}
			rest(t.Context(), 50*time.Millisecond)
			if _, err := clientOf(t, s, p.address, remember); err != nil {
				t.Fatal(err)
			}
		}

		if err := before.PingContext(context.Background()); err != nil {
			t.Errorf("the session from before: %v", err)
		}
	})
}

// A certificate that is taken out of the configuration is shown to nobody any more, and the one that is
// made instead stays.
func TestWithdrawnCertificateIsGone(t *testing.T) {
	t.Parallel()
	certFile, keyFile := newAuthority(t).issue(t, "proxy", "127.0.0.1")
	var shown [4]string
	var s *settings
	for i, c := range []ClientTLS{
		{CertFile: certFile, KeyFile: keyFile},
		{SelfSigned: true},
		{SelfSigned: true},
		{CertFile: certFile, KeyFile: keyFile},
	} {
		var err error
		if s, err = (Config{Listen: []string{"127.0.0.1:0"}, TLS: c}).load(s); err != nil {
			t.Fatal(err)
		}
		shown[i] = string(s.tls.Certificates[0].Certificate[0])
	}
	if shown[1] == shown[0] || shown[2] != shown[1] || shown[3] != shown[0] {
		t.Error("the withdrawn certificate is shown, or another is made at each reload, or the file's is not shown")
	}
}

func TestTLSOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []ClientTLS{
		{CertFile: "a"},
		{KeyFile: "a"},
		{Require: true},
		{ClientCAFile: "a"},
		{CertFile: "none", KeyFile: "none", SelfSigned: true},
		{CertFile: "none", KeyFile: "none"},
	} {
		if _, err := (Config{Listen: []string{"127.0.0.1:0"}, TLS: c}).load(nil); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}

	for _, c := range []BackendTLS{
		{Mode: "sometimes"},
		{Verify: "verify-full"},
		{Mode: TLSNever, Verify: VerifyCA},
		{CAFile: "a"},
		{CertFile: "a"},
		{Mode: TLSNever, CertFile: "a", KeyFile: "b"},
		{Verify: VerifyCA, CAFile: "none"},
	} {
		if _, err := NewBackends(BackendsConfig{Addresses: []string{"db:3306"}, TLS: c}, testLog()); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// The engine's connections are encrypted as the configuration says when they are made: one that began with
// a socket does not send its password in the clear to the server that a reload names, and new authorities
// are known to it.
func TestOwnConnectionsFollowAReload(t *testing.T) {
	bothWithTLS(t, []string{"127.0.0.1"}, func(t *testing.T, s *mysqltest.Server, a *authority) {
		ca := filepath.Join(t.TempDir(), "ca.pem")
		copyFile(t, newAuthority(t).file, ca) // of another server
		p := startEdge(t, BackendsConfig{Addresses: []string{"unix:" + s.Sandbox.Socket()}}, Config{})

		own := s.Config("")
		own.Logger = &mysql.NopLogger{}
		p.backends.Configure(own, func() (string, error) { return own.Passwd, nil })
		db := mysqltest.Open(t, own)
		db.SetMaxIdleConns(0)
		cipher := func() (string, error) {
			var name, value string
			err := db.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Ssl_cipher'").Scan(&name, &value)
			return value, err
		}
		if c, err := cipher(); err != nil || c != "" {
			t.Errorf("on the socket: got cipher %q and %v, want none", c, err)
		}

		if err := p.Reload(p.settings.Load().Config, BackendsConfig{Addresses: []string{s.Addr()}}); err != nil {
			t.Fatal(err)
		}
		held, err := db.Conn(t.Context()) // which a stricter configuration ends
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()

		identity := BackendsConfig{
			Addresses: []string{s.Addr()}, TLS: BackendTLS{Mode: TLSAlways, Verify: VerifyIdentity, CAFile: ca},
		}
		if err := p.Reload(p.settings.Load().Config, identity); err != nil {
			t.Fatal(err)
		}
		if err := held.PingContext(t.Context()); err == nil {
			t.Error("a connection from before goes on with the TLS of before")
		}
		if c, err := cipher(); err == nil {
			t.Errorf("by an authority that did not sign: got cipher %q, want an error", c)
		}

		copyFile(t, a.file, ca)
		if err := p.backends.reloadFiles(); err != nil {
			t.Fatal(err)
		}
		if c, err := cipher(); err != nil || c == "" {
			t.Errorf("after the reload: got cipher %q and %v, want one", c, err)
		}
	})
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
