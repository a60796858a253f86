package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

const (
	user    = "bench"
	service = "ttlproxy" // the proxy's own account, and its password
	schema  = "ttlproxy_bench"
	rows    = 100_000
	rowSize = 200
)

// client is a connection that speaks just enough to send a command and to know when it is answered.
type client struct {
	conn     net.Conn
	address  string
	secured  bool
	tracker  wire.Tracker
	buf      []byte
	file     []byte // what it sends when it is asked for one
	prepared uint32
}

// dial logs in at any of the targets, with TLS or without.
func dial(ctx context.Context, address string, secured bool) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, address: address, secured: secured, buf: make([]byte, 64<<10)}
	if err := c.logIn(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("log in at %s: %w", address, err)
	}
	return c, nil
}

// quit leaves as a client should.
func (c *client) quit() error {
	b, _ := wire.AppendPacket(nil, 0, []byte{byte(wire.Quit)})
	_, err := c.conn.Write(b)
	return errors.Join(err, c.conn.Close())
}

func (c *client) logIn(ctx context.Context) error {
	payload, _, err := wire.ReadPacket(c.conn, nil, wire.MaxPayload)
	if err != nil {
		return err
	}

	var g wire.Greeting
	if err := g.Decode(payload); err != nil {
		return err
	}

	c.tracker.Capabilities = wire.Protocol41 | wire.SecureConnection | wire.PluginAuth | wire.MultiResults |
		wire.LocalFiles
	if c.secured {
		c.tracker.Capabilities |= wire.SSL
	}
	r := make([]byte, 32)
	for i := range 4 {
		r[i] = byte(c.tracker.Capabilities >> (8 * i))
	}

	r[0] |= 1 // as a MySQL client: no extensions of MariaDB
	r[8] = 45
	r = append(append(r, user...), 0, 0)
	r = append(append(r, g.AuthPlugin...), 0)

	seq := byte(1)
	if c.secured {
		if err := c.encrypt(ctx, r[:wire.SSLRequestSize]); err != nil {
			return err
		}
		seq++
	}

	b, _ := wire.AppendPacket(nil, seq, r)
	if _, err := c.conn.Write(b); err != nil {
		return err
	}

	for {
		payload, seq, err := wire.ReadPacket(c.conn, nil, wire.MaxPayload)
		if err != nil {
			return err
		}

		switch payload[0] {
		case wire.AuthOK:
			return nil
		case wire.AuthError:
			e := new(wire.Error)
			if err := e.Decode(payload); err != nil {
				return err
			}
			return e
		case wire.AuthSwitch: // an empty password is an empty answer for every plugin
			b, _ := wire.AppendPacket(nil, seq+1, nil)
			if _, err := c.conn.Write(b); err != nil {
				return err
			}
		}
	}
}

// encrypt begins TLS.
func (c *client) encrypt(ctx context.Context, request []byte) error {
	b, _ := wire.AppendPacket(nil, 1, request)
	if _, err := c.conn.Write(b); err != nil {
		return err
	}
	secured := tls.Client(c.conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // it is our own
	c.conn = secured
	return secured.HandshakeContext(ctx)
}

// query asks and waits for the end of the answer.
func (c *client) query(text string) error {
	_, err := c.command(append([]byte{byte(wire.Query)}, text...))
	return err
}

// command sends a command and waits for the end of the answer.
func (c *client) command(payload []byte) (wire.Report, error) {
	c.tracker.Begin(wire.Command(payload[0]), 0)
	b, _ := wire.AppendPacket(c.buf[:0], 0, payload)
	if _, err := c.conn.Write(b); err != nil {
		return wire.Report{}, err
	}

	for {
		n, err := c.conn.Read(c.buf)
		if err != nil {
			return wire.Report{}, err
		}

		for rest := c.buf[:n]; len(rest) > 0; {
			n, r, ended := c.tracker.Scan(rest)
			if rest = rest[n:]; ended {
				if r.Failed() {
					return r, fmt.Errorf("%.60q: error %d", payload, r.Code)
				}
				return r, nil
			}
		}

		if c.tracker.FileWanted() {
			c.tracker.FileSent()
			if _, err := c.conn.Write(c.file); err != nil {
				return wire.Report{}, err
			}
		}
	}
}

// file is one of 20 MB, as it is sent: in packets with an empty one at its end.
func file() []byte {
	var b []byte
	seq := byte(2)
	line := strings.Repeat("x", rowSize) + "\n"
	for range 1250 {
		b, seq = wire.AppendPacket(b, seq, []byte(strings.Repeat(line, 80)))
	}
	b, _ = wire.AppendPacket(b, seq, nil)
	return b
}

// result is what one round at one target gave.
type result struct {
	queries int
	took    time.Duration
	cpu     time.Duration
	p50     time.Duration
	p95     time.Duration
	p99     time.Duration
}

var theFile = file()

// run sends queries of a workload over a number of connections for a while.
func run(ctx context.Context, t *target, w workload, connections int, d time.Duration) (result, error) {
	clients := make([]*client, connections)
	for i := range clients {
		c, err := dial(ctx, t.address, t.secured)
		if err != nil {
			return result{}, err
		}
		defer c.conn.Close()
		clients[i] = c
		c.file = theFile

		if w.prepare == "" {
			continue
		}
		r, err := c.command(append([]byte{byte(wire.Prepare)}, w.prepare...))
		if err != nil {
			return result{}, err
		}
		c.prepared = r.Statement
	}

	latencies := make([][]time.Duration, connections)
	errs := make([]error, connections)
	before, start := t.cpu(), time.Now()
	var wg sync.WaitGroup

	for i, c := range clients {
		wg.Go(func() {
			for time.Since(start) < d && errs[i] == nil {
				asked := time.Now()
				errs[i] = w.once(ctx, c)
				latencies[i] = append(latencies[i], time.Since(asked))
			}
		})
	}

	wg.Wait()
	r := result{took: time.Since(start), cpu: t.cpu() - before}
	for _, err := range errs {
		if err != nil {
			return r, err
		}
	}

	all := slices.Concat(latencies...)
	slices.Sort(all)
	r.queries = len(all)
	r.p50, r.p95, r.p99 = all[len(all)/2], all[len(all)*95/100], all[len(all)*99/100]

	return r, nil
}
