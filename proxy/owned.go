package proxy

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// Password fetches an account's password, which may have changed since the last login.
type Password func() (string, error)

// Configure makes connections of the engine and the catalog go where new sessions go, with TLS as it is
// in force then, and follow when that changes: an open one is cut, and its pool makes another. Without a
// password the one in c is used.
func (b *Backends) Configure(c *mysql.Config, password Password) {
	b.follow(c, password, func() []address {
		list := make([]address, len(b.list))
		for i, k := range b.list {
			list[i] = k.address
		}
		return list
	})
	c.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) { return b.dialOwned(ctx, network) }
}

// Toward makes connections go to a server that is none of the backends, with TLS as it is used with
// them.
func (b *Backends) Toward(c *mysql.Config, password Password, hostPort string) {
	b.follow(c, password, func() []address { return []address{{network: "tcp", address: hostPort}} })
}

// Member is one of the backends, for those who must talk to that one.
type Member struct {
	Address       string
	ProxyProtocol int // the version of the header that tells it the clients' addresses; 0: it is not told
	Config        *mysql.Config
}

// Members returns, for each backend in order of preference, how an account connects to it.
func (b *Backends) Members(account *mysql.Config, password Password) []Member {
	b.mu.Lock()
	list := slices.Clone(b.list)
	b.mu.Unlock()
	members := make([]Member, len(list))
	for i, k := range list {
		c := account.Clone()
		b.toward(c, password, k.address)
		members[i] = Member{Address: k.String(), ProxyProtocol: int(k.header), Config: c}
	}
	return members
}

// toward makes connections go to one backend.
func (b *Backends) toward(c *mysql.Config, password Password, a address) {
	b.follow(c, password, func() []address { return []address{a} })
	c.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return b.connect(ctx, a, nil, nil) }
}

// follow prepares each connection for the servers to which it may go: where is called with the lock
// held.
func (b *Backends) follow(c *mysql.Config, password Password, where func() []address) {
	describe := func(c *mysql.Config) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.describe(c, b.tls, b.config.TLS, where())
	}
	prepare := mysql.BeforeConnect(func(_ context.Context, c *mysql.Config) (err error) {
		describe(c)
		if password != nil {
			c.Passwd, err = password()
		}
		return err
	})
	c.Apply(prepare) //nolint:errcheck // it only sets a field
	describe(c)
}

// describe tells the driver what it needs to know about connections to these backends: whether
// passwords are safe on them.
func (b *Backends) describe(c *mysql.Config, t *tls.Config, mode BackendTLS, list []address) {
	c.Net, c.Addr, c.TLS, c.AllowFallbackToPlaintext = "unix", list[0].address, nil, false
	for _, a := range list {
		if a.network == "tcp" {
			c.Net, c.Addr = "tcp", a.address
		}
	}

	switch {
	case mode.Mode == TLSNever, mode.Mode == TLSAsClient && c.Net == "unix":
		return
	case mode.Verify == VerifyIdentity:
		c.TLS = forAnyHost(t, list)
	default:
		c.TLS = t.Clone()
	}

	c.AllowFallbackToPlaintext = mode.Mode == TLSAsClient && mode.Verify == VerifyNone
}

// dialOwned connects to the backend that takes the new sessions. A login that was prepared for sockets
// may send its password as it is, and goes nowhere else.
func (b *Backends) dialOwned(ctx context.Context, network string) (net.Conn, error) {
	l, err := b.first(ctx, func(ctx context.Context, l *link) (err error) {
		l.conn, err = b.connect(ctx, l.address, nil, nil)
		return err
	})
	if err != nil {
		return nil, err
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	if network == "unix" && l.address.network != network {
		l.conn.Close()
		return nil, driver.ErrBadConn // the pool tries again
	}
	if l.backend != b.current {
		l.conn.Close()
		return nil, fmt.Errorf("%s is not where new sessions go", l.backend)
	}

	l.backend.owned[l.conn] = struct{}{}
	return &owned{Conn: l.conn, forget: func() {
		b.mu.Lock()
		delete(l.backend.owned, l.conn)
		b.mu.Unlock()
	}}, nil
}

// owned is a connection of our own. Closed from outside it fails its next use, and the pool drops
// it.
type owned struct {
	net.Conn
	forget func()
}

// Close closes the connection and forgets it.
func (o *owned) Close() error {
	o.forget()
	return o.Conn.Close()
}

// SyscallConn lets the driver see, before it uses a connection, whether the server has closed it.
func (o *owned) SyscallConn() (raw syscall.RawConn, err error) {
	if c, ok := o.Conn.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
