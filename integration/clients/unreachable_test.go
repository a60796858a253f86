package clients

import (
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/program"
)

// TestUnreachableServerIsSaid: when no server answers, people read why: a client must not take the
// error for a broken packet.
func TestUnreachableServerIsSaid(t *testing.T) {
	t.Parallel()
	proxy := program.Start(t, program.Config{
		Args: []string{"--backend=127.0.0.1:1", "--engine-user=nobody"}, NoCatalog: true,
	})
	host, port, err := net.SplitHostPort(proxy.Addr)
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range clients {
		if !c.always {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			argv, err := c.command(t)
			if err != nil {
				c.missing(t, err)
			}

			a := account{host: host, port: port, user: "nobody", password: "x", database: "x"}
			argv = append(argv, a.args()...)
			out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), "1429") ||
				!strings.Contains(string(out), "ttlproxy: cannot connect to MySQL server on '127.0.0.1:1'") {
				t.Errorf("got %v and\n%s\nwant error 1429 with the reason", err, out)
			}
		})
	}
}
