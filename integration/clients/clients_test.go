package clients

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy"
)

// TestThroughTheProxy: what a driver prints directly it prints through the proxy.
func TestThroughTheProxy(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		name := s.Database(t)
		if _, err := s.Open(t, "").ExecContext(t.Context(), "SET GLOBAL max_allowed_packet = 64 << 20"); err != nil {
			t.Fatal(err)
		}

		config := s.Account(t, "clients", "ALL ON "+name+".*", "SELECT ON performance_schema.*")
		config.DBName = name
		direct := accountOf(t, config)
		through := startProxy(t, config)

		for _, c := range clients {
			if c.refuses != nil {
				if why := c.refuses(s); why != "" {
					t.Logf("%s: %s", c.name, why)
					continue
				}
			}
			for _, mode := range c.modes {
				t.Run(strings.ReplaceAll(c.name+" "+mode, " ", "-"), func(t *testing.T) {
					want := c.run(t, direct, mode, script...)
					got := c.run(t, through, mode, script...)
					if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
						t.Errorf("directly (-) and through the proxy (+):\n%s", diff)
					}
				})
			}
		}
	})
}

func accountOf(t *testing.T, c *mysql.Config) account {
	t.Helper()
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		t.Fatal(err)
	}
	return account{host, port, c.User, c.Passwd, c.DBName}
}

// startProxy runs a proxy in front of the server and returns the account as it logs in there. No
// driver may say what the proxy does not understand.
func startProxy(t *testing.T, c *mysql.Config) account {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	backends, err := proxy.NewBackends(proxy.BackendsConfig{Addresses: []string{c.Addr}, CheckTimeout: time.Minute}, log)
	if err != nil {
		t.Fatal(err)
	}

	registry := prometheus.NewRegistry()
	p, err := proxy.New(t.Context(), proxy.Config{Listen: []string{"127.0.0.1:0"}}, backends, log,
		proxy.NewMetrics(registry))
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		understood(t, registry)
	})

	c = c.Clone()
	c.Addr = p.Addr().String()
	return accountOf(t, c)
}

// understood checks that the proxy has lost track of no session.
func understood(t *testing.T, g prometheus.Gatherer) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "ttlproxy_sessions_opaque_total" && m.GetCounter().GetValue() > 0 {
				t.Errorf("a session was not understood: %v", m)
			}
		}
	}
}
