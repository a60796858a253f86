package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"
)

// ClientTLS says how clients may, or must, encrypt their leg.
type ClientTLS struct {
	// CertFile and KeyFile are the certificate shown to clients, in PEM. Files that change are read
	// again.
	CertFile, KeyFile string
	// SelfSigned makes a certificate at start if no file is named, as servers do when they are set
	// up.
	SelfSigned bool
	// Require refuses clients without TLS. A unix socket needs none.
	Require bool
	// ClientCAFile admits only clients with a certificate that one of these authorities has signed.
	ClientCAFile string
}

// enabled reports whether clients are offered TLS.
func (c ClientTLS) enabled() bool { return c.CertFile != "" || c.SelfSigned }

// required reports whether a client without TLS is turned away.
func (c ClientTLS) required() bool { return c.Require || c.ClientCAFile != "" }

func (c ClientTLS) validate() error {
	switch {
	case (c.CertFile == "") != (c.KeyFile == ""):
		return errors.New("a certificate needs its key, and a key its certificate: set both tls-cert and tls-key")
	case c.required() && !c.enabled():
		return errors.New("clients must use TLS, but there is no certificate to show them: set tls-cert and tls-key")
	default:
		return nil
	}
}

// load reads the files. It returns nil if clients are not offered TLS. A self-signed certificate is
// made once and kept, so that a reload does not surprise those who have pinned it.
func (c ClientTLS) load(old *tls.Config) (*tls.Config, error) {
	if err := c.validate(); err != nil || !c.enabled() {
		return nil, err
	}

	t := &tls.Config{MinVersion: tls.VersionTLS12, DynamicRecordSizingDisabled: true}
	switch {
	case c.CertFile != "":
		cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("certificate for clients, %s and %s: %w", c.CertFile, c.KeyFile, err)
		}
		t.Certificates = []tls.Certificate{cert}
	case old != nil:
		t.Certificates = old.Certificates
	default:
		cert, err := selfSigned()
		if err != nil {
			return nil, fmt.Errorf("make a certificate: %w", err)
		}
		t.Certificates = []tls.Certificate{cert}
	}

	if c.ClientCAFile != "" {
		pool, err := loadAuthorities(c.ClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("authorities of clients' certificates: %w", err)
		}
		t.ClientCAs, t.ClientAuth = pool, tls.RequireAndVerifyClientCert
	}

	return t, nil
}

// files are what load reads.
func (c ClientTLS) files() []string { return []string{c.CertFile, c.KeyFile, c.ClientCAFile} }

// loadAuthorities reads certificates in PEM.
func loadAuthorities(file string) (*x509.CertPool, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", file)
	}
	return pool, nil
}

// selfSigned makes a certificate that proves nothing, valid for ten years, as servers do when they
// are set up.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}

	host, err := os.Hostname()
	if err != nil {
		host = "ttlproxy"
	}

	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, err
	}

	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: host},
		DNSNames:     []string{host, "localhost"},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(10, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}

	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}

	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
