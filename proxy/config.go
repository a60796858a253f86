package proxy

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// Config says where the proxy listens and what it requires of clients. Everything but Listen can
// be changed while it runs.
type Config struct {
	// Handler decides about statements; nil lets everything pass.
	Handler Handler
	// Listen are the addresses to accept clients on: HOST:PORT, unix:PATH, or systemd:NAME for what
	// Sockets has by that name.
	Listen []string
	// Sockets are open already: whoever opened them keeps them while nobody accepts, so that no client
	// is refused meanwhile.
	Sockets map[string][]net.Listener
	// ProxyNetworks are the networks of the load balancers in front of us: addresses, prefixes such
	// as 10.0.0.0/8, or the word unix. Connections from there begin with a PROXY header. Headers
	// from elsewhere are not believed.
	ProxyNetworks []string
	// TLS is for the clients' leg.
	TLS ClientTLS
	// RSAKeyFile is the key, in PEM, with which clients without TLS send passwords to a backend
	// with TLS; see bridge.go. Without it a key is generated when first needed.
	RSAKeyFile string
	// MaxConnections bounds the clients that are connected; 0 means as many as there are file
	// descriptors for.
	MaxConnections int
	// MaxUserConnections bounds the clients that are logged in to one account; 0 means no bound.
	MaxUserConnections int
	// MaxLogins bounds the logins that are going on at a time, each for at most a second; further ones
	// wait. 0 means no bound.
	MaxLogins int
	// LoginTimeout bounds the time between two packets of a login; 0 means 30 seconds.
	LoginTimeout time.Duration
	// IdleTimeout closes sessions that have been silent for this long outside a transaction,
	// IdleTransactionTimeout those inside one; 0 leaves both to the server's own wait_timeout.
	IdleTimeout, IdleTransactionTimeout time.Duration
	// DrainDelay is how long clients are still accepted after Ready has begun to fail, so that a
	// load balancer can notice.
	DrainDelay time.Duration
	// DrainTimeout is how long sessions in the middle of something may continue after that; 0 means
	// 10 seconds.
	DrainTimeout time.Duration
	// ClientAttributes tells servers the clients' addresses as connection attributes.
	ClientAttributes bool
	// ConnectionLog logs a line for each session that ends.
	ConnectionLog bool
	// SlowLog is how long a command must take to be logged; 0 logs none.
	SlowLog time.Duration

	// silence is how long a peer may acknowledge nothing; tests shorten it.
	silence time.Duration
	// lastWord is how long a server may take to close a connection; tests shorten it.
	lastWord time.Duration
}

// settings are a configuration and the contents of the files it names. They are replaced as a
// whole.
type settings struct {
	Config
	listen   []address
	networks networks
	tls      *tls.Config // for clients; nil if they are not offered TLS
	rsaKey   *rsaKey     // for clients without TLS
}

// Validate reports what is wrong with the configuration or the files it names, before anything is
// opened.
func (c Config) Validate() error {
	_, err := c.load(nil)
	return err
}

// load checks the configuration and reads its files. old are the settings in force, if any.
func (c Config) load(old *settings) (*settings, error) {
	if len(c.Listen) == 0 {
		return nil, errors.New("no address to listen on: name one, HOST:PORT or unix:PATH")
	}

	s := &settings{Config: c}
	if s.Handler == nil {
		s.Handler = passing{}
	}
	s.LoginTimeout = cmp.Or(c.LoginTimeout, 30*time.Second)
	s.DrainTimeout = cmp.Or(c.DrainTimeout, 10*time.Second)
	s.silence = cmp.Or(c.silence, silence)
	s.lastWord = cmp.Or(c.lastWord, lastWord)
	for _, l := range c.Listen {
		a, err := parseListen(l)
		if err != nil {
			return nil, err
		}
		s.listen = append(s.listen, a)
	}

	var err error
	if s.networks, err = parseNetworks(c.ProxyNetworks); err != nil {
		return nil, fmt.Errorf("networks of PROXY headers: %w", err)
	}

	var oldTLS *tls.Config
	if old != nil && old.TLS.CertFile == "" { // what came from a file may have been withdrawn
		oldTLS = old.tls
	}
	if s.tls, err = c.TLS.load(oldTLS); err != nil {
		return nil, err
	}
	if s.rsaKey, err = loadRSAKey(c.RSAKeyFile); err != nil {
		return nil, err
	}
	if old != nil && old.RSAKeyFile == "" && c.RSAKeyFile == "" { // clients may have kept its public half
		s.rsaKey = old.rsaKey
	}
	if s.MaxConnections, err = fitConnections(c.MaxConnections); err != nil {
		return nil, err
	}

	return s, nil
}
