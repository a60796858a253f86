package wire

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// TestDialogs logs in by plugins that ask any number of questions, as PAM does. They come with
// MariaDB's own tests.
func TestDialogs(t *testing.T) {
	s := mysqltest.Start(t, sandbox.MariaDB, "--plugin-maturity=unknown") // which plugins for tests have
	db := s.Open(t, "")
	proxied := through(t, s.Addr())
	for plugin, dialogs := range map[string][][]string{
		"two_questions":  {{"secret", "yes, of course"}, {"secret", "no"}, {"wrong"}, {""}},
		"three_attempts": {{"secret"}, {"one", "secret"}, {"one", "two", "secret"}, {"one", "two", "three"}},
	} {
		t.Run(plugin, func(t *testing.T) {
			if _, err := db.ExecContext(t.Context(),
				"INSTALL PLUGIN IF NOT EXISTS "+plugin+" SONAME 'dialog_examples'"); err != nil {
				t.Skip("the plugin comes with Debian's mariadb-test:", err)
			}

			for _, q := range []string{
				"DROP USER IF EXISTS asked",
				"CREATE USER asked IDENTIFIED VIA " + plugin + " USING 'secret'",
			} {
				if _, err := db.ExecContext(t.Context(), q); err != nil {
					t.Fatalf("%s: %v", q, err)
				}
			}

			for _, answers := range dialogs {
				direct, relayed := dialog(t, s.Addr(), answers), dialog(t, proxied, answers)
				if diff := cmp.Diff(direct, relayed); diff != "" {
					t.Errorf("answering %q directly (-) and through the proxy (+):\n%s", answers, diff)
				}
				if len(relayed) < 2 {
					t.Errorf("answering %q: got %q, want at least a question and an end", answers, relayed)
				}
			}
		})
	}
}

// dialog logs in, answers what it is asked, and returns what the server said, with the numbers of
// its packets.
func dialog(t *testing.T, address string, answers []string) (said []string) {
	t.Helper()
	c := dial(t, address)
	defer c.Close()

	c.send(1, response(wire.Protocol41|wire.SecureConnection|wire.PluginAuth, "asked", "", c.greeting.AuthPlugin, nil))
	for {
		payload, seq, err := c.packet()
		if err != nil {
			return append(said, err.Error())
		}

		said = append(said, fmt.Sprintf("%d %q", seq, payload))
		if payload[0] == wire.AuthOK || payload[0] == wire.AuthError {
			return said
		}

		answer := ""
		if len(answers) > 0 {
			answer, answers = answers[0], answers[1:]
		}

		c.send(seq+1, append([]byte(answer), 0))
	}
}
