package proxy

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"sync"
	"testing"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

var (
	encrypted = leg{tls: true}
	socket    = leg{unix: true}
	open      = leg{}
)

// testKey makes one key for all tests.
var testKey = sync.OnceValue(func() *rsaPair {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	pair, err := newRSAPair(k)
	if err != nil {
		panic(err)
	}
	return pair
})

const secret = "open sesame\x00"

var salt = []byte("abcdefghijklmnopqrst")

func newBridge(client, server leg) *bridge {
	b := &bridge{client: client, server: server, ownKey: func() (*rsaPair, error) { return testKey(), nil }}
	b.begin(pluginCachingSHA2, salt)
	return b
}

// serverSays and clientSays take one step, and fail if something else comes out than wanted: "" for
// a packet that passes as it is.
func (b *bridge) serverSays(t *testing.T, payload string) move {
	t.Helper()
	m, err := b.fromServer([]byte(payload))
	if err != nil {
		t.Fatalf("server says %q: %v", payload, err)
	}
	return m
}

func (b *bridge) clientSays(t *testing.T, payload string) move {
	t.Helper()
	m, err := b.fromClient([]byte(payload))
	if err != nil {
		t.Fatalf("client says %q: %v", payload, err)
	}
	return m
}

func switchTo(plugin string) string { return "\xFE" + plugin + "\x00" + string(salt) + "\x00" }

// A client that sends the password itself, and a server that wants it encrypted.
func TestBridgeEncryptsForTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		client, server leg
		ask            string // with which the server asks for the password
		key            string // with which the server is asked for its key
	}{
		{"caching, TLS to open", encrypted, open, "\x01\x04", "\x02"},
		{"caching, socket to open", socket, open, "\x01\x04", "\x02"},
		{"sha256, TLS to open", encrypted, open, switchTo(pluginSHA256), "\x01"},
		{"sha256, TLS to socket", encrypted, socket, switchTo(pluginSHA256), "\x01"},
	} {
		b := newBridge(c.client, c.server)
		if m := b.serverSays(t, c.ask); string(m.toClient) != c.ask {
			t.Errorf("%s: the client was told %q", c.name, m.toClient)
		}

		m := b.clientSays(t, secret)
		if string(m.toServer) != c.key || m.toClient != nil {
			t.Errorf("%s: for the password got %q, %q, want the server to be asked for its key",
				c.name, m.toServer, m.toClient)
		}

		m = b.serverSays(t, "\x01"+string(testKey().public))
		if m.toClient != nil || bytes.Contains(m.toServer, []byte("sesame")) {
			t.Errorf("%s: got %q, %q, want an encrypted password for the server", c.name, m.toServer, m.toClient)
		}
		if got, err := testKey().decryptPassword(m.toServer, salt); err != nil || string(got) != secret {
			t.Errorf("%s: the server reads %q, %v", c.name, got, err)
		}
		if b.password != nil {
			t.Errorf("%s: the password is still there", c.name)
		}
	}
}

// A client that wants to encrypt the password, and a server that wants it itself.
func TestBridgeDecryptsForTheServer(t *testing.T) {
	t.Parallel()
	block := func() string {
		b, err := encryptPassword(testKey().public, []byte(secret), salt)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}

	for _, c := range []struct {
		name           string
		client, server leg
		ask, key       string
	}{
		{"caching, open to TLS", open, encrypted, "\x01\x04", "\x02"},
		{"caching, open to socket", open, socket, "\x01\x04", "\x02"},
		{"sha256, open to TLS", open, encrypted, switchTo(pluginSHA256), "\x01"},
	} {
		b := newBridge(c.client, c.server)
		b.serverSays(t, c.ask)
		m := b.clientSays(t, c.key)
		if m.toServer != nil || string(m.toClient) != "\x01"+string(testKey().public) {
			t.Errorf("%s: asked for a key got %q, %q", c.name, m.toServer, m.toClient)
		}
		if m := b.clientSays(t, block()); string(m.toServer) != secret {
			t.Errorf("%s: the server gets %q", c.name, m.toServer)
		}

		b = newBridge(c.client, c.server)
		b.serverSays(t, c.ask)
		if m := b.clientSays(t, block()); string(m.toServer) != secret {
			t.Errorf("%s, the client knows the key: the server gets %q", c.name, m.toServer)
		}

		b = newBridge(c.client, c.server)
		b.serverSays(t, c.ask)
		if _, err := b.fromClient(bytes.Repeat([]byte{7}, 256)); err == nil ||
			!strings.Contains(err.Error(), "rsa-key") {
			t.Errorf("%s, another key: got %v, want an error that says what to do", c.name, err)
		}
	}
}

// Whatever is not to be carried over passes as it came.
func TestBridgeLetsPass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		client, server leg
		server1        string
		answer         string
	}{
		{"both TLS", encrypted, encrypted, "\x01\x04", secret},
		{"both open", open, open, "\x01\x04", "\x02"},
		{"TLS and socket", encrypted, socket, "\x01\x04", secret},
		{"both open, sha256", open, open, switchTo(pluginSHA256), "\x01"},
		{"fast way", encrypted, open, "\x01\x03", "anything"},
		{"native", encrypted, open, switchTo("mysql_native_password"), "12345678901234567890"},
		{"ed25519", open, encrypted, switchTo("client_ed25519"), strings.Repeat("x", 64)},
		{"no password", encrypted, open, "\x01\x04", "\x00"},
		{"a client that encrypts for the server itself", encrypted, open, "\x01\x04", "\x02"},
		{"dialog, both open", open, open, switchTo("dialog"), secret},
		{"clear, server private", open, encrypted, switchTo(pluginClear), secret},
	} {
		b := newBridge(c.client, c.server)
		if m := b.serverSays(t, c.server1); string(m.toClient) != c.server1 || m.toServer != nil {
			t.Errorf("%s: got %q, %q", c.name, m.toServer, m.toClient)
		}
		if m := b.clientSays(t, c.answer); string(m.toServer) != c.answer || m.toClient != nil {
			t.Errorf("%s: got %q, %q", c.name, m.toServer, m.toClient)
		}
	}
}

const pluginClear = "mysql_clear_password"

// A client that believes its password is safe must not find it on an open leg.
func TestBridgeRefusesToGiveThePasswordAway(t *testing.T) {
	t.Parallel()
	for _, plugin := range []string{
		pluginClear, "dialog", "authentication_openid_connect_client", "one_of_tomorrow",
	} {
		for _, client := range []leg{encrypted, socket} {
			b := newBridge(client, open)
			if _, err := b.fromServer([]byte(switchTo(plugin))); err == nil ||
				!strings.Contains(err.Error(), "backend-tls") {
				t.Errorf("%s, %+v: got %v, want an error that says what to do", plugin, client, err)
			}
			if _, err := b.fromServer([]byte("\x02" + switchTo(plugin)[1:])); err == nil {
				t.Errorf("%s as a further factor was let through", plugin)
			}
		}
	}
}

// A response that begins with the password is sent without it.
func TestBridgeTakesThePasswordOutOfTheResponse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		plugin         string
		client, server leg
		taken          bool
	}{
		{pluginClear, encrypted, open, true},
		{pluginClear, encrypted, encrypted, false},
		{pluginClear, open, open, false}, // it was in the open already, as without a proxy
		{pluginSHA256, encrypted, open, true},
		{pluginSHA256, open, encrypted, true},
		{pluginSHA256, encrypted, encrypted, false},
		{pluginCachingSHA2, encrypted, open, false}, // begins with a scramble
	} {
		plugin, auth := []byte(c.plugin), []byte(secret)
		newBridge(c.client, c.server).response(plugin, auth)
		if taken := !bytes.Equal(auth, []byte(secret)); taken != c.taken || taken == (string(plugin) == c.plugin) {
			t.Errorf("%s, %+v to %+v: got %q, %q", c.plugin, c.client, c.server, plugin, auth)
		}
	}
}

// Whatever both sides say, in whatever order, nothing panics, and what a private client answers to
// a question for its password is not sent to an open server.
func FuzzBridge(f *testing.F) {
	f.Add([]byte("s\x02\x01\x04c\x0copen sesame\x00s\x02\x01x"), uint8(1))
	f.Add([]byte("s\x10\xFEsha256_password\x00c\x01\x01"), uint8(2))
	f.Fuzz(func(t *testing.T, script []byte, legs uint8) {
		b := newBridge(leg{tls: legs&1 != 0, unix: legs&4 != 0}, leg{tls: legs&2 != 0, unix: legs&8 != 0})
		for len(script) >= 2 {
			from, n := script[0], min(int(script[1]), len(script)-2)
			payload := script[2 : 2+n]
			script = script[2+n:]
			var err error

			if from == 's' {
				_, err = b.fromServer(payload)
			} else {
				var m move
				asked := b.expects == passwordNext && b.client.keeps(b.plugin) && !b.server.keeps(b.plugin)
				m, err = b.fromClient(payload)
				if asked && len(payload) > 1 && bytes.Equal(m.toServer, payload) {
					t.Fatalf("%q was sent on", payload)
				}
			}

			if err != nil {
				return
			}
		}
	})
}

func TestNamesInsteadAreAsLong(t *testing.T) {
	t.Parallel()
	if len(insteadOfSHA256) != len(pluginSHA256) {
		t.Error("a name that takes another's place must be as long as it")
	}
}

// The plugin's name and the password are changed where they stand.
func TestResponseIsChangedInPlace(t *testing.T) {
	t.Parallel()
	var r wire.HandshakeResponse
	caps := wire.Protocol41 | wire.SecureConnection | wire.PluginAuth | wire.ConnectAttrs
	payload := append([]byte{byte(caps), byte(caps >> 8), byte(caps >> 16), 0}, make([]byte, 28)...)
	payload = append(payload, "user\x00\x0copen sesame\x00mysql_clear_password\x00\x16\x14mysql_clear_password\x00"...)
	want := bytes.Replace(payload, []byte(secret+pluginClear),
		[]byte(strings.Repeat("\x00", len(secret))+"ttlproxy_ttlproxy_tt"), 1)

	if err := r.Decode(payload); err != nil {
		t.Fatal(err)
	}

	newBridge(encrypted, open).response(r.RawPlugin, r.Auth)
	if !bytes.Equal(payload, want) {
		t.Errorf("got %q, want %q", payload, want)
	}
}
