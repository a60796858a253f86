package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// Configure makes connections of the engine and the catalog go where new sessions go, and follow
// when that changes: an open one is cut then, and its pool makes another.
func (b *Backends) Configure(c *mysql.Config) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]address, len(b.list))
	for i, k := range b.list {
		list[i] = k.address
	}
	b.describe(c, b.tls, b.config.TLS, list)
	c.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return b.dialOwned(ctx) }
}

// Toward makes connections go to a server that is none of the backends, with TLS as it is used with
// them.
func (b *Backends) Toward(c *mysql.Config, hostPort string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.describe(c, b.tls, b.config.TLS, []address{{network: "tcp", address: hostPort}})
}

// WithPassword makes an account fetch its password at each login.
func WithPassword(c *mysql.Config, password func() (string, error)) {
	if password == nil {
		return
	}

	ask := mysql.BeforeConnect(func(_ context.Context, c *mysql.Config) (err error) {
		c.Passwd, err = password()
		return err
	})
	c.Apply(ask) //nolint:errcheck // it only sets a field
}

// Member is one of the backends, for those who must talk to that one.
type Member struct {
	Address       string
	ProxyProtocol int // the version of the header that tells it the clients' addresses; 0: it is not told
	Config        *mysql.Config
}

// Members returns, for each backend in order of preference, how an account connects to it.
func (b *Backends) Members(account *mysql.Config) []Member {
	b.mu.Lock()
	defer b.mu.Unlock()
	members := make([]Member, len(b.list))
	for i, k := range b.list {
		c, a := account.Clone(), k.address
		b.describe(c, b.tls, b.config.TLS, []address{a})
		c.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return b.connect(ctx, a, nil, nil) }
		members[i] = Member{Address: a.String(), ProxyProtocol: int(a.header), Config: c}
	}
	return members
}

// describe tells the driver what it needs to know about connections to these backends: whether
// passwords are safe on them.
func (b *Backends) describe(c *mysql.Config, t *tls.Config, mode BackendTLS, list []address) {
	c.Net, c.Addr = "unix", list[0].address
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

// dialOwned connects to the backend that takes the new sessions.
func (b *Backends) dialOwned(ctx context.Context) (net.Conn, error) {
	l, err := b.first(ctx, func(ctx context.Context, l *link) (err error) {
		l.conn, err = b.connect(ctx, l.address, nil, nil)
		return err
	})
	if err != nil {
		return nil, err
	}

	b.mu.Lock()
	defer b.mu.Unlock()
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
