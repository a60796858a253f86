package wire

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// ways are how statements go through a proxy: as they come, and all of them held back first.
var ways = map[string]func(*proxy.Config){
	"relayed": func(*proxy.Config) {},
	"held":    func(c *proxy.Config) { c.Handler = new(holdsAll) },
}

// throughBoth runs a proxy of each kind in front of a server, and returns the addresses.
func throughBoth(t *testing.T, server string, change ...func(*proxy.Config)) map[string]string {
	t.Helper()
	addresses := make(map[string]string)
	for way, f := range ways {
		addresses[way] = through(t, server, append(change, f)...)
	}
	return addresses
}

// holdsAll holds back every statement and passes it on: several in one packet one by one, and what
// is prepared so that its EXECUTE is held back, too.
type holdsAll struct{ held atomic.Int64 }

func (*holdsAll) Candidate([]byte) bool { return true }

func (*holdsAll) Concerns(*proxy.Exchange) bool { return true }

func (*holdsAll) Asleep(context.Context, uint32) bool { return false }

func (h *holdsAll) Handle(_ context.Context, x *proxy.Exchange) (err error) {
	h.held.Add(1)
	if x.Command == wire.Prepare {
		_, err = x.Prepare(string(x.Text()), remembered{})
		return err
	}

	parts := h.parts(x)
	if len(parts) < 2 {
		_, err = x.Pass()
		return err
	}

	for i, part := range parts {
		x.More(i < len(parts)-1)
		if _, err = x.Forward(part.Forward()); err != nil || !x.Open() {
			break
		}
	}

	return err
}

// parts are the statements of a packet, if the server says the same about each of them alone as
// about all of them together: syntax errors quote what follows.
func (h *holdsAll) parts(x *proxy.Exchange) []*ddl.Statement {
	if x.Command != wire.Query || !x.MultiStatements() {
		return nil
	}

	parts := ddl.Parse(string(x.Text()), ddl.Mode{MariaDB: x.MariaDB()})
	for _, part := range parts {
		switch part.Verb() {
		case "SELECT", "INSERT", "CALL":
		default:
			return nil
		}
	}

	return parts
}

// remembered is what holdsAll remembers of a prepared statement: nothing.
type remembered struct{}

func (remembered) Size() int64          { return 1 }
func (remembered) ByName() bool         { return false }
func (remembered) Parameterised() error { return nil }

// through runs a proxy in front of a server and returns its address. In the end it must have
// understood all that was said, but for streams, which it leaves alone, and unknown commands.
func through(t *testing.T, server string, change ...func(*proxy.Config)) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	c := proxy.Config{Listen: []string{"127.0.0.1:0"}, DrainTimeout: time.Second}
	for _, f := range change {
		f(&c)
	}

	address, stop := start(t, server, c, registry)
	t.Cleanup(func() {
		stop()
		for _, reason := range wire.Losses() {
			if n := lost(t, registry, reason); n > 0 && reason != "stream" && reason != "command" {
				t.Errorf("%v sessions were not understood: %s", n, reason)
			}
		}
		if h, ok := c.Handler.(*holdsAll); ok && h.held.Load() == 0 {
			t.Error("nothing was held back")
		}
	})

	return address
}

// startBoth runs a proxy of each kind until they are stopped, and expects nothing of them.
func startBoth(t *testing.T, server string) (addresses map[string]string, stop func()) {
	t.Helper()
	addresses = make(map[string]string)
	var stops []func()
	for way, change := range ways {
		c := proxy.Config{Listen: []string{"127.0.0.1:0"}, DrainTimeout: time.Second}
		change(&c)
		address, stop := start(t, server, c, nil)
		addresses[way] = address
		stops = append(stops, stop)
	}
	return addresses, func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// start runs a proxy until it is stopped.
func start(t *testing.T, server string, c proxy.Config, r prometheus.Registerer) (address string, stop func()) {
	t.Helper()

	ctx, cancel := context.WithCancel(context.Background())
	log := slog.New(slog.DiscardHandler)
	b, err := proxy.NewBackends(proxy.BackendsConfig{Addresses: []string{server}, CheckTimeout: time.Minute}, log)
	if err != nil {
		cancel()
		t.Fatal(err)
	}

	p, err := proxy.New(ctx, c, b, log, proxy.NewMetrics(r))
	if err != nil {
		cancel()
		t.Fatal(err)
	}

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(ctx)
	}()
	return p.Addr().String(), func() {
		cancel()
		<-ended
	}
}

// lost is how many sessions the proxy lost track of for a reason.
func lost(t *testing.T, g prometheus.Gatherer, reason string) (n float64) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range families {
		if f.GetName() != "ttlproxy_sessions_opaque_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetLabel()[0].GetValue() == reason {
				n += m.GetCounter().GetValue()
			}
		}
	}

	return n
}
