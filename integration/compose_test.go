package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// TestCompose does what docker-compose.yml does, without Docker: a new MySQL takes accounts.sql,
// two proxies start with the environment of the file, are found ready by its health check, and let
// the application in as its first lines say.
func TestCompose(t *testing.T) {
	shared := mysqltest.Shared(t, sandbox.MySQL)
	if shared.Sandbox == nil {
		t.Skip("this needs a server of its own, and this machine has none installed")
	}

	t.Parallel()
	server, err := sandbox.Start(t.Context(), sandbox.Config{Flavour: sandbox.MySQL})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = server.Close() })
	// as the image does
	statements := []string{"CREATE DATABASE app", "CREATE USER app IDENTIFIED BY 'app'", "GRANT ALL ON app.* TO app"}
	for line := range strings.Lines(read(t, "../deploy/compose/accounts.sql")) {
		if !strings.HasPrefix(line, "--") {
			statements = append(statements, strings.TrimRight(line, ";\n"))
		}
	}

	if err := execute(context.Background(), server.Config(""), statements...); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		page := freeAddress(t)
		elsewhere := strings.NewReplacer("mysql:3306", server.Addr(), "0.0.0.0:4080", page)
		var env []string
		for _, m := range regexp.MustCompile(`(?m)^ +(TTLPROXY_[A-Z_]+): "?([^"\n]*)"?$`).FindAllStringSubmatch(read(t,
			"../docker-compose.yml"), -1) {
			env = append(env, m[1]+"="+elsewhere.Replace(m[2]))
		}

		p := program.Start(t, program.Config{Env: env})
		awaitHealth(t, env)

		c := mysql.NewConfig()
		c.User, c.Passwd, c.Net, c.Addr, c.DBName = "app", "app", "tcp", p.Addr, "app"
		c.TLS = &tls.Config{InsecureSkipVerify: true} // as a command-line client does on the same machine
		if err := execute(context.Background(), c,
			"CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY",
			"SHOW TTL NODES"); err != nil {
			t.Error(err)
		}
	}
}

// awaitHealth asks a proxy whether it is ready, as often as docker-compose.yml does before it gives up.
func awaitHealth(t *testing.T, env []string) {
	t.Helper()
	_, after, _ := strings.Cut(read(t, "../docker-compose.yml"), "test: [CMD, /ttlproxy, ready]")
	check := regexp.MustCompile(`^\s+interval: (\d+)s\s+timeout: \d+s\s+retries: (\d+)`).FindStringSubmatch(after)
	if check == nil {
		t.Fatal("docker-compose.yml asks no proxy whether it is ready")
	}
	seconds, _ := strconv.Atoi(check[1]) // both are digits
	retries, _ := strconv.Atoi(check[2])

	var out []byte
	var err error
	for range retries {
		ask := exec.CommandContext(t.Context(), program.Build(t), "ready")
		ask.Env = append(os.Environ(), env...)
		if out, err = ask.CombinedOutput(); err == nil && bytes.Contains(out, []byte("ok")) {
			return
		}
		time.Sleep(time.Duration(seconds) * time.Second)
	}
	t.Fatalf("ttlproxy ready: %v, %s", err, out)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
