package proxy

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// deadAddress is one where nobody listens, and nobody else can as long as the test runs: a port
// that was only closed would soon be another test's.
func deadAddress(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}

	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}

	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
}

// silentAddress is one where somebody listens and says nothing.
func silentAddress(t *testing.T) string {
	return wiretest.Serve(t, wiretest.Script{wiretest.ExpectClose()})
}

func wellAddress(t *testing.T) string {
	return wiretest.Serve(t, wiretest.Script{wiretest.ServeLogin(wiretest.Capabilities), wiretest.ExpectClose()})
}

func TestNextBackendTakesOver(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"refuses": deadAddress(t), "says nothing": silentAddress(t),
		"is no server": wiretest.Serve(t,
			wiretest.Script{wiretest.SendBytes([]byte("HTTP/1.1 400\r\n")), wiretest.ExpectClose()}),
	} {
		p := startEdge(t, BackendsConfig{
			Addresses:   []string{first, wellAddress(t)},
			DialTimeout: time.Hour, CheckInterval: time.Hour,
		}, Config{})
		play(t, p.address, wiretest.LogIn(wiretest.Capabilities))
		h := p.backends.Health()
		if h[0].State != Down || h[0].Reason == "" || h[1].State == Down || !h[1].Current {
			t.Errorf("%s: health is %+v", name, h)
		}

		metrics := make(chan prometheus.Metric, 100)
		p.backends.Collect(metrics)
		if n := len(metrics); n != 2*(5+5) {
			t.Errorf("got %d metrics, want 5 states and 5 others for each of 2 backends", n)
		}
	}
}

// A server that refuses for its own reasons is not dead: the client hears them.
func TestServersOwnRefusalIsPassedOn(t *testing.T) {
	t.Parallel()
	e := &wire.Error{Code: ddl.CodeTooManyConnections, Message: "Too many connections"}
	full := wiretest.Serve(t, wiretest.Script{wiretest.Send(0, e.AppendBare(nil)), wiretest.ExpectClose()})
	p := startEdge(t, BackendsConfig{Addresses: []string{full, deadAddress(t)}, CheckInterval: time.Hour}, Config{})
	play(t, p.address, wiretest.Expect(0, e.AppendBare(nil)), wiretest.ExpectClose())
}

func TestAllBackendsDead(t *testing.T) {
	t.Parallel()
	p := startEdge(t, BackendsConfig{Addresses: []string{deadAddress(t), deadAddress(t)}, CheckInterval: time.Hour},
		Config{})
	play(t, p.address, wiretest.Receive(expectError(ddl.CodeCannotConnect)), wiretest.ExpectClose())
	if err := p.Ready(); err == nil {
		t.Error("ready without a backend")
	}
}

// A backend that was down is found to be well again without a session having to try it.
func TestBackendComesBack(t *testing.T) {
	t.Parallel()
	greets := seesNobody()
	first, second := wiretest.Serve(t, greets), wiretest.Serve(t, greets)
	for _, addresses := range [][]string{{first, second}, {first}} {
		p := startEdge(t, BackendsConfig{
			Addresses: addresses, CheckInterval: 10 * time.Millisecond, FailBack: time.Millisecond,
			damping: time.Millisecond,
		}, Config{})
		p.backends.set(p.backends.list[0], Health{State: Down, Reason: "a test"})
		await(t, func() bool {
			return p.backends.Health()[0].Current && p.backends.Health()[0].State != Down && p.backends.ready() == nil
		})
	}
}

// await waits until something holds.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(mysqltest.Patience)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
		rest(context.Background(), 10*time.Millisecond)
	}
}

// New sessions and the engine's connections go to the writer; sessions that are there stay where
// they are.
func TestSessionsFollowTheWriter(t *testing.T) {
	one, two := mysqltest.Start(t, sandbox.MariaDB), mysqltest.Start(t, sandbox.MySQL)
	for _, s := range []*mysqltest.Server{one, two} {
		db := s.Open(t, "")
		for _, q := range []string{"CREATE USER edge@'%' IDENTIFIED BY 'edge'", "GRANT SELECT ON mysql.* TO edge@'%'"} {
			if _, err := db.ExecContext(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
	}

	p := startEdge(t, BackendsConfig{
		Addresses: []string{one.Addr(), two.Addr()}, CheckInterval: 20 * time.Millisecond, CheckUser: "edge",
		CheckPassword: func() (string, error) { return "edge", nil },
		FailBack:      time.Millisecond, damping: time.Millisecond, Switch: SwitchKeep,
	}, Config{})
	config := one.Config("")
	config.User, config.Passwd = "edge", "edge"
	own := config.Clone()
	config.Addr = p.address
	p.backends.Configure(own, nil)
	engine, client := mysqltest.Open(t, own), mysqltest.Open(t, config)
	version := func() (string, string) {
		var e, c string
		if err := engine.QueryRowContext(t.Context(), "SELECT VERSION()").Scan(&e); err != nil {
			return err.Error(), ""
		}

		conn, err := client.Conn(t.Context())
		if err != nil {
			return e, err.Error()
		}
		defer conn.Raw(func(any) error { return errClientGone }) // closes it: the next is a new session

		if err := conn.QueryRowContext(t.Context(), "SELECT VERSION()").Scan(&c); err != nil {
			return e, err.Error()
		}

		return e, c
	}

	both := func(s *mysqltest.Server) func() bool {
		return func() bool {
			e, c := version()
			return strings.HasPrefix(e, s.Version[:4]) && strings.HasPrefix(c, s.Version[:4])
		}
	}

	await(t, both(one))
	stays, err := client.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	first := one.Open(t, "")
	if _, err := first.ExecContext(t.Context(), "SET GLOBAL read_only = 1"); err != nil {
		t.Fatal(err)
	}

	await(t, both(two))
	var v string
	if err := stays.QueryRowContext(t.Context(), "SELECT VERSION()").Scan(&v); err != nil ||
		!strings.HasPrefix(v, one.Version[:4]) {
		t.Errorf("the session from before is on %q, %v", v, err)
	}
	if _, err := first.ExecContext(t.Context(), "SET GLOBAL read_only = 0"); err != nil {
		t.Fatal(err)
	}

	await(t, both(one))
	one.Sandbox.Kill()
	await(t, both(two))
}

func TestAddressesAreChecked(t *testing.T) {
	t.Parallel()
	for _, list := range [][]string{
		{},
		{"db"},
		{"db:"},
		{"unix:"},
		{"db:65536"},
		{"db:3306", "db:3306"},
		{"db:3306?proxy-protocol=v3"},
		{"db:3306?weight=2"},
		{"db:3306?drain=maybe"},
	} {
		if _, err := NewBackends(BackendsConfig{Addresses: list}, testLog()); err == nil {
			t.Errorf("%q was accepted", list)
		}
	}
	b, err := NewBackends(BackendsConfig{Addresses: []string{"db:3306"}}, testLog())
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(t.Context(), Config{Listen: []string{"systemd:clients"}}, b, testLog(), NewMetrics(nil))
	if err == nil || !strings.Contains(err.Error(), "systemd:clients: systemd has passed no socket") {
		t.Errorf("without a socket: %v", err)
	}

	a, _, err := parseBackend("unix:/run/mysqld/mysqld.sock?proxy-protocol=v1")
	if err != nil || a != (address{network: "unix", address: "/run/mysqld/mysqld.sock", header: 1}) ||
		a.String() != "unix:/run/mysqld/mysqld.sock" {
		t.Errorf("got %+v, %v", a, err)
	}
}
