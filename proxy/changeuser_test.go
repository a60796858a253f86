package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// changeUserTo is COM_CHANGE_USER to another account.
func changeUserTo(user, auth, plugin string) []byte {
	return command(wire.ChangeUser, user+"\x00"+string(rune(len(auth)))+auth+"db\x00\x2d\x00"+plugin+"\x00")
}

// changeUserOn lets a client without TLS change its user at a server behind a socket: the password
// is carried over.
func changeUserOn(t *testing.T, config Config, client, server wiretest.Script) {
	t.Helper()
	backend := wiretest.ServeUnix(t, wiretest.Script{servePassword(t), server, wiretest.ExpectClose()})
	p := startEdge(t, BackendsConfig{Addresses: []string{"unix:" + backend}}, config)
	p.settings.Load().rsaKey.pair = testKey()
	play(t, p.address, append(wiretest.Script{wiretest.LogIn(wiretest.Capabilities)}, client...)...)
}

func TestChangeUserCarriesThePasswordOver(t *testing.T) {
	t.Parallel()
	block, err := encryptPassword(testKey().public, []byte(secret), salt)
	if err != nil {
		t.Fatal(err)
	}

	to := changeUserTo("other", "scramble", pluginCachingSHA2)
	changeUserOn(t, Config{}, wiretest.Script{
		wiretest.Send(0, to), wiretest.Expect(1, []byte(switchTo(pluginCachingSHA2))),
		wiretest.Send(2, []byte("scramble again")), wiretest.Expect(3, []byte("\x01\x04")), wiretest.Send(4, []byte{2}),
		wiretest.Expect(5, append([]byte{1}, testKey().public...)), wiretest.Send(6, block),
		wiretest.Expect(7, okPacket(auto)),
		query("SELECT 1"), wiretest.Expect(1, okPacket(auto)),
	}, wiretest.Script{
		wiretest.Expect(0, to), wiretest.Send(1, []byte(switchTo(pluginCachingSHA2))),
		wiretest.Expect(2, []byte("scramble again")),
		wiretest.Send(3, []byte("\x01\x04")), wiretest.Expect(4, []byte(secret)), wiretest.Send(5, okPacket(auto)),
		showsAccount(t, "CREATE USER `other`@`%`"), expectQuery("SELECT 1"), wiretest.Send(1, okPacket(auto)),
	})
}

func TestChangeUserTheFastWay(t *testing.T) {
	t.Parallel()
	to := changeUserTo("other", "scramble", pluginCachingSHA2)
	changeUserOn(t, Config{}, wiretest.Script{
		wiretest.Send(0, to), wiretest.Expect(1, []byte("\x01\x03")), wiretest.Expect(2, okPacket(auto)), query("x"),
		wiretest.Expect(1, okPacket(auto)),
	}, wiretest.Script{
		wiretest.Expect(0, to), wiretest.Send(1, []byte("\x01\x03")), wiretest.Send(2, okPacket(auto)),
		showsAccount(t, "CREATE USER `other`@`%`"), expectQuery("x"), wiretest.Send(1, okPacket(auto)),
	})
}

func TestChangeUserRefused(t *testing.T) {
	t.Parallel()
	to := changeUserTo("other", "", "mysql_native_password")
	changeUserOn(t, Config{},
		wiretest.Script{wiretest.Send(0, to), wiretest.Expect(1, errPacket(1045, "denied")), wiretest.ExpectClose()},
		wiretest.Script{wiretest.Expect(0, to), wiretest.Send(1, errPacket(1045, "denied")), wiretest.Close()})
}

// A session counts for the account it has changed to, and for no other.
func TestChangeUserMovesTheCount(t *testing.T) {
	t.Parallel()
	to := changeUserTo("other", "", "mysql_native_password")
	backend := wiretest.Serve(t,
		wiretest.Script{
			wiretest.ServeLogin(wiretest.Capabilities), tellsAccount(t, "user@%"),
			wiretest.Expect(0, to), wiretest.Send(1, okPacket(auto)), tellsAccount(t, "other@%"),
			wiretest.ExpectClose(),
		},
		wiretest.Script{wiretest.ServeLogin(wiretest.Capabilities), wiretest.ExpectClose()})

	p := startEdge(t, BackendsConfig{Addresses: []string{backend}}, Config{MaxUserConnections: 1})
	c := dialed(t, p.address)
	script := wiretest.Script{
		wiretest.LogIn(wiretest.Capabilities), wiretest.Send(0, to),
		wiretest.Expect(1, okPacket(auto)),
	}
	if err := script.Play(c); err != nil {
		t.Fatal(err)
	}

	p.mu.Lock()
	got := fmt.Sprint(p.users)
	p.mu.Unlock()
	if got != "map[other@%:1]" {
		t.Errorf("counted %s, want one of other", got)
	}
}

// Where nothing has to be carried over the command passes, and what is logged names the account
// that the session has changed to.
func TestChangeUserIsTakenDown(t *testing.T) {
	t.Parallel()
	to := changeUserTo("other", "", "mysql_native_password")
	backend := wiretest.Serve(t, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), wiretest.Expect(0, to), wiretest.Send(1, okPacket(auto)),
		expectQuery("SELECT 1"), wiretest.Send(1, okPacket(auto)), wiretest.ExpectClose(),
	})
	p := startEdge(t, BackendsConfig{Addresses: []string{backend}}, Config{SlowLog: time.Nanosecond})
	play(
		t, p.address, wiretest.LogIn(wiretest.Capabilities), wiretest.Send(0, to), wiretest.Expect(1, okPacket(auto)),
		query("SELECT 1"), wiretest.Expect(1, okPacket(auto)),
	)

	if got := p.logged.String(); !strings.Contains(got, "user=other client=") ||
		strings.Contains(got, "user=user client=") {
		t.Errorf("want everything logged for the other account:\n%s", got)
	}
}
