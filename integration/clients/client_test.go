package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// account is where and as whom a client logs in.
type account struct{ host, port, user, password, database string }

func (a account) args() []string { return []string{a.host, a.port, a.user, a.password, a.database} }

// request is a text and the values of its placeholders.
type request []string

// client is a program that runs statements through one driver.
type client struct {
	name  string
	modes []string // text, prepared, features: those the driver has
	// command finds or builds the program, or says what is missing.
	command func(t *testing.T) ([]string, error)
	// input writes statements the way the program reads them; JSON unless told otherwise.
	input func([]request) string
	// always says that it comes with the servers, so that it is there wherever the tests run.
	always bool
	// refuses says why the client can not log in to a server; nil or empty: it can.
	refuses func(*mysqltest.Server) string
}

var clients = []client{
	{name: "node mysql2", modes: []string{"text", "prepared", "features"}, command: node("mysql2.js")},
	{name: "node mariadb", modes: []string{"text", "prepared", "features"}, command: node("mariadb.js")},
	{name: "python pymysql", modes: []string{"text", "features"}, command: python},
	{name: "php pdo", modes: []string{"text", "prepared", "features"}, command: php},
	{name: "java mariadb", modes: []string{"text", "prepared", "features"}, command: java, input: lines},
	{name: "c libmariadb", modes: []string{"features"}, command: libmariadb},
	{name: "mariadb command line", modes: []string{"text"}, command: mariadbCLI, input: semicolons, always: true},
	{
		name: "mysql command line", modes: []string{"text"}, command: mysqlCLI, input: semicolons, refuses: onlyMySQL,
		always: true,
	},
}

// run runs the client in a mode against an account and returns what it printed.
func (c client) run(t *testing.T, a account, mode string, statements ...request) string {
	t.Helper()
	argv, err := c.command(t)
	if err != nil {
		c.missing(t, err)
	}

	input := c.input
	if input == nil {
		input = asJSON
	}

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	argv = append(append(slices.Clip(argv), a.args()...), mode)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(input(statements))
	var stdout, stderr bytes.Buffer

	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s\n%s", c.name, mode, err, tail(stdout.String()), tail(stderr.String()))
	}
	if stdout.Len() == 0 {
		t.Fatalf("%s %s printed nothing\n%s", c.name, mode, stderr.String())
	}

	return stdout.String()
}

func asJSON(statements []request) string {
	b, err := json.Marshal(statements)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}

func lines(statements []request) string {
	var b strings.Builder
	for _, s := range statements {
		fmt.Fprintln(&b, strings.Join(s, "\t"))
	}
	return b.String()
}

func tail(s string) string {
	if len(s) > 2000 {
		return "…" + s[len(s)-2000:]
	}
	return s
}

// missing is for a client that is not on this machine.
func (c client) missing(t *testing.T, why error) {
	t.Helper()
	if c.always && mysqltest.Everything() {
		t.Fatalf("%s: %v", c.name, why)
	}
	missing(t, c.name, why)
}

// missing skips what is not on this machine, or fails where all of it has to be.
func missing(t *testing.T, name string, why error) {
	t.Helper()
	if os.Getenv("TTLPROXY_TEST_CLIENTS") == "all" {
		t.Fatalf("%s: %v", name, why)
	}
	t.Skipf("%s: %v", name, why)
}

// check is a program that must succeed for a client to be usable, and the Debian packages that
// bring it.
func check(t *testing.T, packages string, argv ...string) error {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("install %s (%w: %s)", packages, err, tail(strings.Join(strings.Fields(string(out)), " ")))
	}
	return nil
}

func path(t *testing.T, name string) string {
	t.Helper()
	p, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
