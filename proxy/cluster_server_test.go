package proxy

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// cluster is a proxy in front of the members of a cluster.
type cluster struct {
	*edge
	members []*mysqltest.Server
	direct  []*sql.DB
}

func startCluster(t *testing.T, members []*mysqltest.Server) *cluster {
	t.Helper()
	c := &cluster{members: members}
	config := BackendsConfig{
		CheckInterval: 50 * time.Millisecond, CheckUser: members[0].Config("").User, damping: time.Millisecond,
		CheckPassword: func() (string, error) { return members[0].Config("").Passwd, nil },
	}
	for _, m := range members {
		config.Addresses = append(config.Addresses, m.Addr())
		db := m.Open(t, "")
		db.SetMaxOpenConns(1)
		c.direct = append(c.direct, db)
	}
	c.edge = startEdge(t, config, Config{DrainTimeout: time.Second})
	return c
}

// do executes a statement on one member.
func (c *cluster) do(t *testing.T, member int, statement string) {
	t.Helper()
	if _, err := c.direct[member].ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// expect waits until a member is in a state, and new sessions reach another.
func (c *cluster) expect(t *testing.T, member int, state State, current int) {
	t.Helper()
	settled := func() bool {
		h := c.backends.Health()
		return h[member].State == state && h[current].Current
	}
	for deadline := time.Now().Add(time.Minute); !settled(); rest(context.Background(), 20*time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("member %d is not %v with the sessions on %d: %+v", member, state, current, c.backends.Health())
		}
	}

	config := c.members[0].Config("")
	config.Addr = c.address
	var port string
	if err := mysqltest.Open(t, config).QueryRowContext(t.Context(), "SELECT @@port").Scan(&port); err != nil ||
		!strings.HasSuffix(c.members[current].Addr(), ":"+port) {
		t.Errorf("a new session is on port %s, %v, want %s", port, err, c.members[current].Addr())
	}
}

// What the members of a Galera cluster say of themselves decides where sessions go. The members are
// those that TTLPROXY_TEST_GALERA names (scripts/galera.sh).
func TestGaleraDecides(t *testing.T) {
	names := os.Getenv("TTLPROXY_TEST_GALERA")
	if testing.Short() || names == "" {
		t.Skip("needs a Galera cluster, named by TTLPROXY_TEST_GALERA: see scripts/galera.sh")
	}

	var members []*mysqltest.Server
	for name := range strings.FieldsSeq(names) {
		members = append(members, mysqltest.Named(t, sandbox.MariaDB, name))
	}

	c := startCluster(t, members)
	c.expect(t, 0, Writable, 0)
	c.do(t, 0, "SET GLOBAL wsrep_reject_queries = ALL")
	c.expect(t, 0, Down, 1)
	c.do(t, 0, "SET GLOBAL wsrep_reject_queries = NONE")
	c.expect(t, 0, Writable, 1)

	c.do(t, 1, "SET GLOBAL wsrep_desync = ON") // what a donor does, and mariadb-backup
	c.expect(t, 1, Desynced, 0)
	c.do(t, 1, "SET GLOBAL wsrep_desync = OFF")
	c.expect(t, 1, Writable, 0)

	c.do(t, 0, "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'") // cut off from the others
	c.expect(t, 0, Down, 1)
	c.do(t, 0, "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")
	c.expect(t, 0, Writable, 1)
}

// A primary of Group Replication that has lost the majority looks writable, and lets everybody wait
// who writes: it gets no new sessions.
func TestGroupReplicationDecides(t *testing.T) {
	if os.Getenv("TTLPROXY_TEST_GROUP") == "" {
		t.Skip("needs half a minute and three servers: see make group")
	}

	const members = 3
	ports := make([]string, members)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = l.Addr().String()
		defer l.Close()
		l.Close() // free when we look
	}

	servers := make([]*mysqltest.Server, members)
	for i := range servers {
		servers[i] = mysqltest.Start(t, sandbox.MySQL, "--plugin-load-add=group_replication.so", "--gtid-mode=ON",
			"--enforce-gtid-consistency=ON", fmt.Sprintf("--server-id=%d", i+1), "--report-host=127.0.0.1",
			"--loose-group-replication-group-name=aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa",
			"--loose-group-replication-local-address="+ports[i],
			"--loose-group-replication-group-seeds="+strings.Join(ports, ","),
			"--loose-group-replication-start-on-boot=OFF", "--loose-group-replication-recovery-get-public-key=ON")
	}

	c := startCluster(t, servers)
	c.expect(t, 1, Writable, 0) // a server with the plugin is no member yet
	c.do(t, 0, "SET GLOBAL group_replication_bootstrap_group = ON")
	c.do(t, 0, "START GROUP_REPLICATION")
	for i := 1; i < members; i++ {
		c.do(t, i, "RESET BINARY LOGS AND GTIDS")
		c.do(t, i, "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root' FOR CHANNEL 'group_replication_recovery'")
		c.do(t, i, "START GROUP_REPLICATION")
		c.expect(t, i, ReadOnly, 0)
	}

	c.expect(t, 0, Writable, 0)
	for _, s := range servers[1:] {
		if err := s.Sandbox.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		defer s.Sandbox.Signal(syscall.SIGCONT)
	}
	deadline := time.Now().Add(time.Minute)
	for h := c.backends.Health()[0]; h.State != ReadOnly; h = c.backends.Health()[0] {
		if time.Now().After(deadline) {
			t.Fatalf("a primary without a majority is %+v", h)
		}
		rest(context.Background(), 50*time.Millisecond)
	}
}
