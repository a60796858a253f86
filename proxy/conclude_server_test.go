package proxy

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// outside is an address of this machine that servers do not take for their own host's: those whom
// they do, they never lock out.
func outside(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if ip := a.(*net.IPNet).IP; ip.To4() != nil && ip.IsGlobalUnicast() {
			return ip.String()
		}
	}
	t.Skip("this machine has no address but its loopback")
	return ""
}

// far is a server that counts what goes wrong with its clients, and where it is for those from
// outside.
func far(t *testing.T, flavour sandbox.Flavour) (db *sql.DB, server *mysqltest.Server, address string) {
	t.Helper()
	ip := outside(t)
	server = mysqltest.Start(t, flavour, "--bind-address=0.0.0.0", "--skip-name-resolve=OFF", "--host-cache-size=100",
		"--performance-schema=ON")
	_, port, err := net.SplitHostPort(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return server.Open(t, ""), server, net.JoinHostPort(ip, port)
}

// Clients that leave before they are logged in, in whatever way and however many, lock nobody out,
// and leave no port occupied.
func TestNobodyLocksTheOthersOut(t *testing.T) {
	t.Parallel()
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			db, server, address := far(t, flavour)
			account := server.Account(t, "later")
			start := func(login time.Duration) *edge {
				return startEdge(t, BackendsConfig{Addresses: []string{address}},
					Config{LoginTimeout: login, lastWord: lastWord})
			}
			p, hasty := start(0), start(4*time.Second) // in which fifty clients are greeted at once
			account.Addr = p.address
			through := mysqltest.Open(t, account)
			through.SetMaxIdleConns(0)
			if err := through.PingContext(t.Context()); err != nil { // from now on the server counts this host
				t.Fatal(err)
			}

			for what, leave := range map[string]wiretest.Script{
				"hangs up":                 {},
				"hangs up at the greeting": {expectGreetingOf()},
				"resets at the greeting":   {expectGreetingOf(), wiretest.Reset()},
				"says nothing":             {expectGreetingOf(), wiretest.ExpectClose()},
				"sends rubbish":            {expectGreetingOf(), wiretest.Send(1, []byte("rubbish")), expectAny()},
				"hangs up at a question": {
					expectGreetingOf(), wiretest.Send(1, responseOf(account.User, "nonesuch")), expectAny(),
				},
			} {
				const clients, atOnce = 500, 50
				count, to := clients, p
				if what == "says nothing" {
					to = hasty
				}
				if what != "hangs up" {
					count /= 5 // which is as many as a server lets pass
				}
				var g errgroup.Group
				g.SetLimit(atOnce)
				for range count {
					g.Go(func() error {
						c, err := net.Dial("tcp", to.address)
						if err != nil {
							return err
						}
						defer c.Close()
						return leave.Play(c)
					})
				}
				if err := g.Wait(); err != nil {
					t.Errorf("%s: %v", what, err)
				}

				await(t, func() bool { return to.count() == 0 })
				if n := connectErrors(t, db); n != 0 {
					t.Errorf("a client %s: the server counts %d errors", what, n)
				}
				if err := through.PingContext(t.Context()); err != nil {
					t.Errorf("after clients of which each %s: %v", what, err)
				}
			}

			logInFor(t, account, time.Second, 100)
			await(t, func() bool { return p.count() == 0 })
			if n := waitingFor(t, address); n > 10 { // a server that is very busy may take too long
				t.Errorf("%d ports are occupied for connections that have ended", n)
			}
		})
	}
}

// A thousand logins a second for as long as TTLPROXY_TEST_LOGINS says (make logins): no port is
// missing.
func TestAThousandLoginsASecond(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("TTLPROXY_TEST_LOGINS"))
	if err != nil {
		t.Skip("takes minutes: see make logins")
	}

	type place struct {
		db      *sql.DB
		server  *mysqltest.Server
		address string
	}
	places := make(map[sandbox.Flavour]place)
	for _, flavour := range mysqltest.Flavours { // before the load, which leaves few ports of clients free
		db, server, address := far(t, flavour)
		places[flavour] = place{db, server, address}
	}

	for flavour, at := range places {
		t.Run(string(flavour), func(t *testing.T) {
			const rate = 1000
			db, server, address := at.db, at.server, at.address
			account := server.Account(t, "later")
			p := startEdge(t, BackendsConfig{Addresses: []string{address}}, Config{MaxLogins: 256, lastWord: lastWord})
			account.Addr = p.address
			began := time.Now()
			logInFor(t, account, length, rate)
			if took := time.Since(began); took > length*3/2 { // a machine that is busy needs longer
				t.Errorf("%d logins a second took %v, want %v", rate, took, length)
			}

			var name string
			var aborted int
			if err := db.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Aborted_clients'").
				Scan(&name, &aborted); err != nil || aborted > 0 {
				t.Errorf("the server counts %d aborted clients, %v", aborted, err)
			}
			t.Logf("%d ports are occupied, in use are %d", waitingFor(t, address), p.count())
		})
	}
}

// logInFor logs clients in and out again, so many in each second.
func logInFor(t *testing.T, account *mysql.Config, length time.Duration, rate int) {
	t.Helper()
	const atOnce = 64
	pause := time.Second / time.Duration(rate)
	began := time.Now()
	var g errgroup.Group
	var next atomic.Int64
	for range atOnce {
		g.Go(func() error {
			for {
				i := next.Add(1)
				due := time.Duration(i) * pause
				if due > length {
					return nil
				}
				rest(t.Context(), due-time.Since(began))
				if err := logInOnce(t.Context(), account, i); err != nil {
					return err
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// logInOnce logs in from one of many addresses, for the test has no more ports than the proxy.
func logInOnce(ctx context.Context, account *mysql.Config, i int64) error {
	c := account.Clone()
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%200))}}
		return d.DialContext(ctx, network, address)
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return err
	}
	return conn.Close()
}

// What the server alone finds wrong it does count; then the account of the checks logs in, which
// makes it forget.
func TestCountedErrorsAreForgotten(t *testing.T) {
	t.Parallel()
	db, server, address := far(t, sandbox.MariaDB)
	check := server.Account(t, "check")
	p := startEdge(t, BackendsConfig{
		Addresses: []string{address}, CheckInterval: time.Hour, CheckUser: check.User,
		CheckPassword: func() (string, error) { return check.Passwd, nil },
	}, Config{})
	await(t, func() bool { return p.backends.Health()[0].State == Writable })

	for range 300 { // a scramble of a length that there is not
		play(t, p.address, expectGreetingOf(), wiretest.Send(1, responseOf(check.User, "mysql_native_password", "xxx")),
			wiretest.Receive(expectError(ddl.CodeHandshake)))
	}
	check.Addr = p.address
	if err := mysqltest.Open(t, check).PingContext(t.Context()); err != nil {
		t.Error(err)
	}
	if n := connectErrors(t, db); n > 100 {
		t.Errorf("the server counts %d errors", n)
	}
}

// expectGreetingOf is a greeting, whatever it says.
func expectGreetingOf() wiretest.Step { return expectAny() }

// expectAny is any packet.
func expectAny() wiretest.Step { return wiretest.Receive(func([]byte, byte) error { return nil }) }

// responseOf is a response to a greeting, with the data of a plugin.
func responseOf(user, plugin string, data ...string) []byte {
	g := wiretest.Greeting(wiretest.Capabilities)
	g.AuthPlugin = plugin
	b := nobodysResponse(&g)
	auth := strings.Join(data, "")
	return fmt.Appendf(b[:wire.SSLRequestSize:wire.SSLRequestSize], "%s\x00%c%s%s\x00", user, len(auth), auth, plugin)
}

// connectErrors is how many errors in succession a server counts against this machine.
func connectErrors(t *testing.T, db *sql.DB) int {
	t.Helper()
	var n, hosts int
	const q = "SELECT COUNT(*), COALESCE(SUM(SUM_CONNECT_ERRORS), 0) FROM performance_schema.host_cache"
	if err := db.QueryRowContext(t.Context(), q).Scan(&hosts, &n); err != nil {
		t.Fatal(err)
	}
	if hosts == 0 {
		t.Error("the server counts no hosts")
	}
	return n
}

// waitingFor counts the ports of this machine that are occupied for a minute after connections to
// an address, because the other side was not given the time to close them.
func waitingFor(t *testing.T, address string) (n int) {
	t.Helper()
	to, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return 0 // another system: there is nothing to be seen
	}
	defer f.Close()

	ip := to.IP.To4()
	remote := fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], to.Port)
	const timeWait = "06"
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 3 && fields[2] == remote && fields[3] == timeWait {
			n++
		}
	}
	return n
}
