package wire

import (
	"bytes"
	"crypto/ed25519"
	"crypto/pbkdf2"
	"crypto/sha512"
	"slices"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// TestParsec logs in by MariaDB's newest plugin: the server sends a nonce, is asked for the
// account's salt, and verifies a signature.
func TestParsec(t *testing.T) {
	s := mysqltest.Shared(t, sandbox.MariaDB)
	db := s.Open(t, "")
	if _, err := db.ExecContext(t.Context(), "INSTALL SONAME 'auth_parsec'"); err != nil {
		var there int
		if db.QueryRowContext(t.Context(),
			"SELECT 1 FROM information_schema.plugins WHERE plugin_name = 'parsec'").Scan(&there) != nil {
			t.Skip("parsec comes with MariaDB 11.6:", err)
		}
	}

	for _, q := range []string{
		"DROP USER IF EXISTS signer",
		"CREATE USER signer IDENTIFIED VIA parsec USING PASSWORD('open sesame')",
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}

	for name, address := range map[string]string{"directly": s.Addr(), "through the proxy": through(t, s.Addr())} {
		for password, want := range map[string]byte{"open sesame": wire.AuthOK, "open barley": wire.AuthError} {
			if got := signIn(t, address, password); got[0] != want {
				t.Errorf("%s, %s: got %q", name, password, got)
			}
		}
	}
}

// signIn logs in and returns the server's last word.
func signIn(t *testing.T, address, password string) []byte {
	t.Helper()
	c := dial(t, address)
	defer c.Close()

	next := func() ([]byte, byte) {
		payload, seq, err := c.packet()
		if err != nil || len(payload) == 0 {
			t.Fatalf("got %q, %v", payload, err)
		}
		return payload, seq
	}

	c.send(1, response(wire.Protocol41|wire.SecureConnection|wire.PluginAuth, "signer", "", c.greeting.AuthPlugin, nil))
	payload, seq := next()
	if name, nonce, _ := bytes.Cut(payload[1:], []byte{0}); payload[0] != wire.AuthSwitch || string(name) != "parsec" ||
		len(nonce) < 32 {
		t.Fatalf("got %q, want a switch to parsec with a nonce", payload)
	}

	nonce := payload[len("\xFEparsec\x00"):][:32]
	c.send(seq+1, nil)
	payload, seq = next()

	salt := bytes.TrimPrefix(payload, []byte{wire.AuthMore})
	if len(salt) < 2 || salt[0] != 'P' {
		t.Fatalf("got %q, want the account's salt", payload)
	}

	seed, err := pbkdf2.Key(sha512.New, password, salt[2:], 1024<<salt[1], ed25519.SeedSize)
	if err != nil {
		t.Fatal(err)
	}

	ours := bytes.Repeat([]byte{7}, 32)
	c.send(seq+1, slices.Concat(ours, ed25519.Sign(ed25519.NewKeyFromSeed(seed), slices.Concat(nonce, ours))))
	payload, _ = next()
	return payload
}
