package integration

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
)

// TestClientsOfAProxyWithoutAnEngine: deletion, which is done elsewhere, makes way for them.
func TestClientsOfAProxyWithoutAnEngine(t *testing.T) {
	t.Parallel()
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Start(t, flavour)
			s := newTrialOn(t, server)
			p := program.Start(t, program.Config{Args: append(proxyArgs(server)[:2], "--engine=off",
				"--catalog-schema=ttlproxy", "--status=unix:"+filepath.Join(t.TempDir(), "status"))})
			at := server.Config(s.schema)
			at.Addr = p.Addr
			beside := *s
			beside.db = mysqltest.Open(t, at)

			s.sql("SET GLOBAL ttl_brake_percent = 100, " + strings.Join(mysqltest.Signals, " = 0, ") + " = 0")
			s.sql("SET GLOBAL ttl_throttle_latency = 300")
			s.running(lasting)
			var slow atomic.Bool
			defer beside.clients(&slow)()
			s.learnsUsual("latency")
			slow.Store(true)
			s.heldBackBy("latency")
		})
	}
}
