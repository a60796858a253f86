package status

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/report"
)

// minToken is the shortest token accepted: anything shorter is guessed, not known.
const minToken = 16

// Config says where the status listener is and who may change something there.
type Config struct {
	// Listen is the address: HOST:PORT or unix:PATH.
	Listen string
	// Token lets its bearer act and see keys of rows, until SetToken. Empty: nothing can be changed over HTTP.
	Token string
	// Version of this program, shown on the page.
	Version string
	// Backends are the servers as the proxy sees them now; nil where there is no proxy.
	Backends func() []report.Backend
	// Sessions are those of the proxy's clients; nil where there is no proxy.
	Sessions func() []report.Session
	// Checks decide /readyz. All of them must pass.
	Checks []Check
}

// Check is one condition for being ready.
type Check struct {
	Name string
	Run  func(context.Context) error
}

// checkTimeout bounds each readiness check, so that /readyz answers before its caller gives up.
const checkTimeout = 2 * time.Second

func (c Config) validate() error {
	if c.Listen == "" {
		return errors.New("status: no address to listen on")
	}
	if network, address := splitAddress(c.Listen); network == "tcp" {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fmt.Errorf("status address %q: want HOST:PORT or unix:PATH", c.Listen)
		}
	}
	return CheckToken(c.Token)
}

func splitAddress(s string) (network, address string) {
	if path, ok := strings.CutPrefix(s, "unix:"); ok {
		return "unix", path
	}
	return "tcp", s
}
