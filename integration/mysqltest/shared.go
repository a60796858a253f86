package mysqltest

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

// Flavours are the servers everything is tested on.
var Flavours = []sandbox.Flavour{sandbox.MariaDB, sandbox.MySQL}

// Both runs a test on MariaDB and on MySQL side by side, as parallel subtests of these names: they
// begin when the caller's own function has ended, so the call is the last thing in it. Tests wait
// for servers more than they compute.
func Both(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	for _, flavour := range Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			test(t, Shared(t, flavour))
		})
	}
}

// Each is Both for tests that measure their own process: one server after the other, and nothing
// beside them.
func Each(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	for _, flavour := range Flavours {
		t.Run(string(flavour), func(t *testing.T) { test(t, Shared(t, flavour)) })
	}
}

// Shared returns the server of a flavour which all tests of this binary share.
func Shared(tb testing.TB, flavour sandbox.Flavour) *Server {
	tb.Helper()
	skipShort(tb)
	s, err := shared[flavour]()
	if err != nil {
		missing(tb, flavour, err)
	}
	return s
}

// Start starts a server for this test alone, with arguments of its own. It ends with the test.
func Start(tb testing.TB, flavour sandbox.Flavour, args ...string) *Server {
	tb.Helper()
	skipShort(tb)
	s, err := sandbox.Start(tb.Context(), sandbox.Config{Flavour: flavour, Args: append(Careless(flavour), args...)})
	if err != nil {
		missing(tb, flavour, err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return FromSandbox(s)
}

// shared holds one lazily started server per flavour. It has to be the package's: tests have no
// other place that lives as long as the test binary.
var shared = map[sandbox.Flavour]func() (*Server, error){
	sandbox.MariaDB: sync.OnceValues(func() (*Server, error) { return open(sandbox.MariaDB, "TTLPROXY_TEST_MARIADB") }),
	sandbox.MySQL:   sync.OnceValues(func() (*Server, error) { return open(sandbox.MySQL, "TTLPROXY_TEST_MYSQL") }),
}

func open(flavour sandbox.Flavour, variable string) (*Server, error) {
	ctx := context.Background() // the server outlives the test that happens to ask first
	if dsn := os.Getenv(variable); dsn != "" {
		return fromDSN(ctx, flavour, dsn)
	}
	s, err := sandbox.Start(ctx, sandbox.Config{Flavour: flavour, Args: Careless(flavour)})
	if err != nil {
		return nil, err
	}
	return FromSandbox(s), nil
}

// Patience is how long a test waits for what has to happen before it fails. A machine that is busy with
// other tests takes its time, and what does happen keeps nobody waiting.
const Patience = 3 * time.Minute

// Careless leaves out what guards a server's files against a power failure: tests kill servers, not
// machines. On MySQL it takes a third off the time that a catalog needs to come and go, on MariaDB
// two thirds.
func Careless(flavour sandbox.Flavour) []string {
	args := []string{"--innodb-flush-method=nosync"}
	if flavour == sandbox.MariaDB {
		return append(args, "--debug-no-sync") // it syncs files of its own with each DDL, besides InnoDB's
	}
	// Without threads that write the log, each commit may stand still for a tenth of a second while all
	// processors are busy; and unless told that there is too little to do, these spin, which is a third of
	// all that a server computes.
	return append(args, "--innodb-log-writer-threads=ON", "--innodb-log-spin-cpu-abs-lwm=1000000")
}

func skipShort(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs a server: left out under -short")
	}
}

// missing ends a test that has no server: it skips the test if the machine simply has none, and
// fails it if there is a broken one, or if everything is supposed to be tested.
func missing(tb testing.TB, flavour sandbox.Flavour, err error) {
	tb.Helper()
	if errors.Is(err, sandbox.ErrNotInstalled) && !Everything() {
		tb.Skipf("no %s to test with: %v", flavour, err)
	}
	tb.Fatalf("%s for the tests: %v", flavour, err)
}
