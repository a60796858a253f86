package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
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

// workload is a kind of query.
type workload struct {
	name string
	next func() string
}

var workloads = []workload{
	{"point select", func() string {
		return fmt.Sprintf("SELECT pad FROM %s.t WHERE id = %d", schema, 1+rand.IntN(rows))
	}},
	{"range of 100", func() string {
		from := 1 + rand.IntN(rows-100)
		return fmt.Sprintf("SELECT id, pad FROM %s.t WHERE id BETWEEN %d AND %d", schema, from, from+99)
	}},
}

// client is a connection that speaks just enough to send a query and to know when it is answered.
type client struct {
	conn    net.Conn
	tracker wire.Tracker
	buf     []byte
}

// dial logs in at any of the targets.
func dial(ctx context.Context, address string) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, buf: make([]byte, 64<<10)}
	if err := c.logIn(); err != nil {
		conn.Close()
		return nil, fmt.Errorf("log in at %s: %w", address, err)
	}
	return c, nil
}

func (c *client) logIn() error {
	payload, _, err := wire.ReadPacket(c.conn, nil, wire.MaxPayload)
	if err != nil {
		return err
	}

	var g wire.Greeting
	if err := g.Decode(payload); err != nil {
		return err
	}

	c.tracker.Capabilities = wire.Protocol41 | wire.SecureConnection | wire.PluginAuth | wire.MultiResults
	r := make([]byte, 32)
	for i := range 4 {
		r[i] = byte(c.tracker.Capabilities >> (8 * i))
	}

	r[0] |= 1 // as a MySQL client: no extensions of MariaDB
	r[8] = 45
	r = append(append(r, user...), 0, 0)
	r = append(append(r, g.AuthPlugin...), 0)

	b, _ := wire.AppendPacket(nil, 1, r)
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

// query asks and waits for the end of the answer.
func (c *client) query(text string) error {
	c.tracker.Begin(wire.Query, 0)
	b, _ := wire.AppendPacket(c.buf[:0], 0, append([]byte{byte(wire.Query)}, text...))
	if _, err := c.conn.Write(b); err != nil {
		return err
	}

	for {
		n, err := c.conn.Read(c.buf)
		if err != nil {
			return err
		}

		for rest := c.buf[:n]; len(rest) > 0; {
			n, r, ended := c.tracker.Scan(rest)
			if rest = rest[n:]; ended {
				if r.Failed() {
					return fmt.Errorf("%s: error %d", text, r.Code)
				}
				return nil
			}
		}
	}
}

// result is what one round at one target gave.
type result struct {
	queries int
	took    time.Duration
	cpu     time.Duration
	p50     time.Duration
	p95     time.Duration
}

// run sends queries of a workload over a number of connections for a while.
func run(ctx context.Context, t *target, w workload, connections int, d time.Duration) (result, error) {
	clients := make([]*client, connections)
	for i := range clients {
		c, err := dial(ctx, t.address)
		if err != nil {
			return result{}, err
		}
		defer c.conn.Close()
		clients[i] = c
	}

	latencies := make([][]time.Duration, connections)
	errs := make([]error, connections)
	before, start := t.cpu(), time.Now()
	var wg sync.WaitGroup

	for i, c := range clients {
		wg.Go(func() {
			for time.Since(start) < d && errs[i] == nil {
				asked := time.Now()
				errs[i] = c.query(w.next())
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
	r.p50, r.p95 = all[len(all)/2], all[len(all)*95/100]

	return r, nil
}
