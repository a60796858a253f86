package signal

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// TestGroupSignal: each member's queue is a reading, and an account that may not see it is told so.
func TestGroupSignal(t *testing.T) {
	if os.Getenv("TTLPROXY_TEST_GROUP") == "" {
		t.Skip("needs a server of its own for some seconds: see make group")
	}

	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // free when we look
	server := mysqltest.Start(t, sandbox.MySQL, "--plugin-load-add=group_replication.so", "--gtid-mode=ON",
		"--enforce-gtid-consistency=ON", "--server-id=1", "--report-host=127.0.0.1",
		"--loose-group-replication-group-name=aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa",
		"--loose-group-replication-local-address="+l.Addr().String(),
		"--loose-group-replication-start-on-boot=OFF")
	b := &bed{T: t, server: server, db: server.Open(t, ""), schema: server.Database(t), settings: setting.Defaults()}
	b.noGroup(t) // with the plugin, but no member yet
	b.exec("SET GLOBAL group_replication_bootstrap_group = ON", "START GROUP_REPLICATION")

	until(t, "the member", func() bool {
		all, err := (group{}).Read(t.Context(), Look{Server: b.db, Settings: b.settings})
		if err != nil {
			t.Fatal(err)
		}
		return len(all) == 1 && all[0].State == Measured && all[0].Source != "" && all[0].Pressure() < 1
	})

	account := mysqltest.Open(t, server.Account(t, "nobody", "SELECT ON "+b.schema+".*"))
	r := b.one(t, group{}, Look{Server: account})
	if r.State != NotSeen || !strings.Contains(r.Detail, "GRANT SELECT ON "+groupTable) {
		t.Errorf("an account without rights is told %v", r)
	}
}
