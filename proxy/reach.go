package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/ttlproxy/ttlproxy/panics"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// dialFunc makes connections, as that of a net.Dialer does.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// link is a connection to a backend.
type link struct {
	conn     net.Conn
	backend  *backend
	address  address
	tls      *tls.Config   // for this backend
	patience time.Duration // how long it waits for a client that logs in, with something to spare
	mode     TLSMode
	greeting []byte // the payload of the first packet, if it was read
	seq      byte
}

// toGreet connects to the best backend that answers, on behalf of a client that came to listener,
// and reads its greeting: one that accepts connections and says nothing is as dead as one that does
// not.
func (b *Backends) toGreet(ctx context.Context, client, listener net.Addr) (link, error) {
	return b.first(ctx, func(ctx context.Context, l *link) (err error) {
		if l.conn, err = b.connect(ctx, l.address, client, listener); err != nil {
			return err
		}
		l.greeting, l.seq, err = b.readGreeting(ctx, l.conn, l.address)
		return err
	})
}

// first tries the backends in order until one can be reached. What keeps a session from a healthy
// one, or never left this machine, is told to the client: another backend would be the wrong one.
func (b *Backends) first(ctx context.Context, do func(context.Context, *link) error) (link, error) {
	b.mu.Lock()
	list, config := b.order(), b.config
	b.mu.Unlock()
	if len(list) == 0 {
		return link{}, errAllDrained
	}
	var errs []error

	for _, k := range list {
		l := link{
			backend: k, address: k.address, mode: config.TLS.Mode, tls: k.tls.Load(), patience: k.patience(),
		}
		began := time.Now()
		err := b.reach(ctx, k, config, func(ctx context.Context) error { return do(ctx, &l) })
		k.dialled(time.Since(began), err)
		switch {
		case err == nil:
			b.answered(k)
			return l, nil
		case ctx.Err() != nil:
			return link{}, ctx.Err()
		case b.known(k).State != Down:
			return link{}, unreachable([]*backend{k}, []error{err})
		}
		errs = append(errs, err)
	}

	return link{}, unreachable(list, errs)
}

// reach tries one backend. One that lets a session wait, or fails it, is checked: that, and not the
// session's bad luck, decides whether it is down. Then nobody waits for it any more.
func (b *Backends) reach(ctx context.Context, k *backend, config BackendsConfig, do func(context.Context) error) error {
	if b.known(k).State == Down {
		limited, cancel := context.WithTimeout(ctx, config.CheckTimeout)
		defer cancel()
		return do(limited)
	}

	limited, cancel := context.WithTimeout(ctx, config.DialTimeout)
	defer cancel()
	doubt := time.AfterFunc(config.CheckTimeout/2, func() {
		for b.suspect(limited, k).State != Down { // also if this machine was too busy to find out
			if !rest(limited, config.CheckTimeout/2) {
				return
			}
		}
		cancel()
	})
	defer doubt.Stop()

	err := do(limited)
	if err == nil || ctx.Err() != nil || local(err) {
		return err
	}
	if h := b.suspect(ctx, k); h.State == Down && errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %s", k, h.Reason)
	}
	return err
}

// local reports whether an error says something about this machine, and nothing about the server:
// no descriptor, port or memory, no way out, no answer of the name server.
func local(err error) bool {
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return !e.IsNotFound
	}
	return slices.ContainsFunc(localErrors, func(e syscall.Errno) bool { return errors.Is(err, e) })
}

var localErrors = []syscall.Errno{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EADDRNOTAVAIL, syscall.EADDRINUSE,
	syscall.EAGAIN, syscall.EACCES, syscall.EPERM, syscall.ENETUNREACH, syscall.ENETDOWN,
}

// unreachable is what a client is told if no backend answers.
func unreachable(list []*backend, errs []error) error {
	if len(list) == 1 {
		return fmt.Errorf("cannot connect to MySQL server on '%s': %w", list[0], errs[0])
	}
	return fmt.Errorf("cannot connect to MySQL server, none of %d answers: %w", len(list), errors.Join(errs...))
}

// connect reaches one backend and sends the PROXY header, if it wants one: the server greets only
// after that.
func (b *Backends) connect(ctx context.Context, a address, client, listener net.Addr) (net.Conn, error) {
	c, err := b.dial(ctx, a.network, a.address)
	if err != nil {
		return nil, err
	}

	if a.header == 0 {
		return c, nil
	}
	if _, err := c.Write(a.header.header(client, listener)); err != nil {
		c.Close()
		return nil, fmt.Errorf("send the PROXY header to %s: %w", a, err)
	}

	return c, nil
}

// readGreeting reads the first packet, which may also be an error. Nothing has been negotiated yet,
// so anything else does not come from a server. If it fails, the connection is not the caller's any
// more: a greeting that comes too late is answered before it ends.
func (b *Backends) readGreeting(ctx context.Context, c net.Conn, a address) (payload []byte, seq byte, err error) {
	var part bytes.Buffer
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		c.SetDeadline(past) //nolint:errcheck // the read fails then
	})
	payload, seq, err = wire.ReadPacket(io.TeeReader(c, &part), nil, loginLimit)
	if err == nil && (len(payload) == 0 || payload[0] != wire.AuthError && payload[0] != greetingVersion) {
		err = wire.ErrProtocol
	}
	switch {
	case !stop():
		<-interrupted
		err = errors.Join(err, ctx.Err())
		go b.answerLate(c, part.Bytes())
	case err != nil:
		c.Close()
	default:
		return payload, seq, nil
	}
	return nil, 0, fmt.Errorf("greeting of %s: %w", a, err)
}

// answerLate ends a login for which nobody waits any more, but to which the server may still greet.
func (b *Backends) answerLate(c net.Conn, part []byte) {
	defer c.Close()
	err := panics.Caught(func() error {
		p := progress{part: part}
		p.conclude(c)
		return nil
	})
	if bug, ok := errors.AsType[*panics.Error](err); ok {
		bug.Log(b.log, "while a late greeting was answered", slog.String("backend", c.RemoteAddr().String()))
	}
}

// greetingVersion is the first byte of a greeting.
const greetingVersion = 10
