package clients

import (
	"database/sql"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// TestPAM logs in by PAM, with the drivers that can, as one user of a service that a script decides
// about. It writes the service's file to /etc/pam.d, so it is for machines on which everything is
// to be tested.
func TestPAM(t *testing.T) {
	if os.Getenv("TTLPROXY_TEST_CLIENTS") != "all" {
		t.Skip("writes to /etc/pam.d, and that only with TTLPROXY_TEST_CLIENTS=all")
	}

	s := mysqltest.Start(t, sandbox.MariaDB, "--plugin-load-add=auth_pam")
	service := pamService(t, "#!/bin/sh\n[ \"$PAM_USER\" = pam_user ] && [ \"$(tr -d '\\000')\" = 'open sesame' ]\n")
	db := s.Open(t, "")
	for _, q := range []string{
		"CREATE USER pam_user IDENTIFIED VIA pam USING '" + service + "'", "CREATE DATABASE shop",
		"GRANT ALL ON shop.* TO pam_user",
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}

	config := s.Config("shop")
	config.User, config.Passwd = "pam_user", "open sesame"
	direct, through := accountOf(t, config), startProxy(t, config)
	for _, c := range clients {
		switch c.name {
		case "java mariadb", "mariadb command line": // that of Node wants TLS
			t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
				who := request{"SELECT CURRENT_USER(), DATABASE()"}
				want, got := c.run(t, direct, "text", who), c.run(t, through, "text", who)
				if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(got, "pam_user@%") {
					t.Errorf("directly (-) and through the proxy (+):\n%s\n%s", diff, got)
				}
			})
		}
	}
}

// pamService makes a PAM service which asks for a password and gives it to a script, and returns
// its name.
func pamService(t *testing.T, script string) string {
	t.Helper()
	const name = "ttlproxy-test"
	judge := filepath.Join(t.TempDir(), "judge")
	if err := os.WriteFile(judge, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("/etc/pam.d", name)
	if err := os.WriteFile(file, []byte("auth required pam_exec.so expose_authtok quiet "+judge+
		"\naccount required pam_permit.so\n"), 0o644); err != nil {
		t.Skip("a service of PAM can be made by root only:", err)
	}
	t.Cleanup(func() { os.Remove(file) })
	return name
}

// TestSecondFactor logs in to MySQL with a password and, as the second factor, as the system's user
// on the other end of the server's socket: behind the proxy that is the proxy's, which is lent to
// nobody.
func TestSecondFactor(t *testing.T) {
	s := mysqltest.Shared(t, sandbox.MySQL)
	if s.Sandbox == nil {
		t.Skip("the server's socket is not known")
	}

	self, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}

	db := s.Open(t, "")
	installSocketPlugin(t, db)

	for _, q := range []string{
		"DROP USER IF EXISTS factors",
		"CREATE USER factors IDENTIFIED WITH caching_sha2_password BY 'first' AND IDENTIFIED WITH auth_socket AS '" +
			self.Username + "'",
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}

	program, err := mysqlProgram(t)
	if err != nil {
		missing(t, "mysql", err)
	}

	config := s.Config("")
	config.Addr = "unix:" + s.Sandbox.Socket()
	through := startProxy(t, config)
	ask := func(password string, where ...string) string {
		args := append([]string{
			"--no-defaults", "--user=factors", "--password1=" + password, "--password2=", "--batch",
			"--get-server-public-key", "-e", "SELECT CURRENT_USER()",
		}, where...)
		out, _ := exec.CommandContext(t.Context(), program, args...).CombinedOutput() // an error is in the output
		return string(out)
	}

	socket, tcp := "--socket="+s.Sandbox.Socket(), []string{
		"--protocol=TCP", "--host=" + through.host,
		"--port=" + through.port,
	}
	if want, got := ask("wrong", socket), ask("wrong", tcp...); want != got || !strings.Contains(got, "Access denied") {
		t.Errorf("with a wrong password directly %q, through the proxy %q", want, got)
	}
	if want, got := ask("first", socket), ask("first", tcp...); !strings.Contains(want, "factors@%") ||
		!strings.Contains(got, "let the proxy connect to HOST:PORT") {
		t.Errorf("with the password directly %q, through the proxy %q", want, got)
	}

	// Without the socket the second factor fails, and the client is told so by the server.
	config.Addr = s.Addr()
	host, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		t.Fatal(err)
	}

	overTCP := startProxy(t, config)
	want := ask("first", "--protocol=TCP", "--host="+host, "--port="+port)
	if got := ask("first", "--protocol=TCP", "--host="+overTCP.host, "--port="+overTCP.port); want != got ||
		!strings.Contains(got, "Access denied") {
		t.Errorf("over TCP directly %q, through the proxy %q", want, got)
	}
}

func installSocketPlugin(t *testing.T, db *sql.DB) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), "INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'"); err != nil &&
		!strings.Contains(err.Error(), "1125") {
		t.Skip("MySQL comes without its plugin for sockets:", err)
	}
}
