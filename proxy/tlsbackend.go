package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
)

// TLSMode says when the leg to the backend is encrypted. The words are those of MySQL Router.
type TLSMode string

// The modes. With AsClient, the default, both legs are alike, which every account plugin
// understands. With the others they may differ; then passwords are carried over by bridge.go.
const (
	TLSAsClient TLSMode = "as-client"
	TLSAlways   TLSMode = "always"
	TLSNever    TLSMode = "never"
)

// TLSVerify says what is required of the backend's certificate. The words are those of MySQL's
// --ssl-mode.
type TLSVerify string

// What may be required: nothing; that a known authority has signed it; and also that it names the
// host that was dialled.
const (
	VerifyNone     TLSVerify = "none"
	VerifyCA       TLSVerify = "verify-ca"
	VerifyIdentity TLSVerify = "verify-identity"
)

// BackendTLS says how the leg to the backend is encrypted.
type BackendTLS struct {
	Mode   TLSMode
	Verify TLSVerify
	// CAFile holds the authorities, in PEM; without it they are the system's.
	CAFile string
	// CertFile and KeyFile are the certificate shown to the backend, if any.
	CertFile, KeyFile string
}

// validate fills in the defaults.
func (c *BackendTLS) validate() error {
	if c.Mode == "" {
		c.Mode = TLSAsClient
	}
	if c.Verify == "" {
		c.Verify = VerifyNone
	}

	switch {
	case c.Mode != TLSAsClient && c.Mode != TLSAlways && c.Mode != TLSNever:
		return fmt.Errorf("backend-tls is %q: want as-client, always or never", c.Mode)
	case c.Verify != VerifyNone && c.Verify != VerifyCA && c.Verify != VerifyIdentity:
		return fmt.Errorf("backend-tls-verify is %q: want none, verify-ca or verify-identity", c.Verify)
	case (c.CertFile == "") != (c.KeyFile == ""):
		return errors.New("a certificate needs its key, and a key its certificate: set both backend-tls-cert and " +
			"backend-tls-key")
	case c.Mode == TLSNever && (c.Verify != VerifyNone || c.CAFile != "" || c.CertFile != ""):
		return errors.New("backend-tls is never, so there is no certificate to verify or to show: remove " +
			"backend-tls-verify, -ca, -cert and -key, or set backend-tls to as-client or always")
	case c.Verify == VerifyNone && c.CAFile != "":
		return errors.New("backend-tls-ca is set, but nothing is verified with it: set backend-tls-verify to " +
			"verify-ca or verify-identity")
	default:
		return nil
	}
}

// load reads the files of a configuration that is valid.
func (c BackendTLS) load() (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12, DynamicRecordSizingDisabled: true}
	if c.CAFile != "" {
		pool, err := loadAuthorities(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("authorities of the backend's certificate: %w", err)
		}
		t.RootCAs = pool
	}

	if c.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("certificate for the backend, %s and %s: %w", c.CertFile, c.KeyFile, err)
		}
		t.Certificates = []tls.Certificate{cert}
	}

	if c.Verify != VerifyIdentity {
		// the default of clients, too: ssl-mode=PREFERRED; and verify-ca verifies below
		t.InsecureSkipVerify = true //nolint:gosec // see above
	}
	if c.Verify == VerifyCA {
		t.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(t.RootCAs, state) }
	}

	return t, nil
}

// files are what load reads.
func (c BackendTLS) files() []string { return []string{c.CertFile, c.KeyFile, c.CAFile} }

// verifyChain verifies who has signed the certificate, and not whom it names.
func verifyChain(roots *x509.CertPool, state tls.ConnectionState) error {
	o := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
	for _, c := range state.PeerCertificates[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(o)
	return err
}

// forHost is the configuration for one backend.
func forHost(t *tls.Config, a address) *tls.Config {
	t = t.Clone()
	if host, _, err := net.SplitHostPort(a.address); err == nil && a.network == "tcp" {
		t.ServerName = host
	} else {
		t.ServerName = "localhost"
	}
	return t
}

// forBackend is forHost for many connections: those after the first resume its session, which spares
// both sides most of the handshake.
func forBackend(t *tls.Config, a address) *tls.Config {
	t = forHost(t, a)
	t.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	return t
}

// forAnyHost is the configuration for connections that may go to any of these backends, with their
// identity verified: the certificate must name one of them.
func forAnyHost(t *tls.Config, list []address) *tls.Config {
	t = t.Clone()
	t.InsecureSkipVerify = true //nolint:gosec // verified below
	t.VerifyConnection = func(state tls.ConnectionState) error {
		if err := verifyChain(t.RootCAs, state); err != nil {
			return err
		}

		var errs []error
		for _, a := range list {
			err := state.PeerCertificates[0].VerifyHostname(forHost(t, a).ServerName)
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}

		return errors.Join(errs...)
	}

	return t
}
