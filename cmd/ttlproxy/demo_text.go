package main

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
)

// invitation is what the demo tells its user.
type invitation struct {
	Server, Password, Address, Status, Log string
}

// tries are the statements to try, each with what it shows. A test runs them.
var tries = []struct{ statement, shows string }{
	{"SHOW TTL JOBS;", "what is being deleted, and why not"},
	{"SHOW CREATE TABLE session;", "the policy, in a comment of TiDB's"},
	{"EXPLAIN TTL audit;", "most of its rows are due, so its job waits"},
	{"APPROVE TTL JOB FOR audit;", "lets it go ahead"},
	{"CREATE TABLE note (id INT AUTO_INCREMENT PRIMARY KEY, text TEXT,\n" +
		"      at DATETIME DEFAULT NOW(), KEY (at))\n" +
		"      TTL = at + INTERVAL 20 SECOND TTL_JOB_INTERVAL = '5s';\n     ", "insert rows, and watch them go"},
}

// printInvitation fits on a terminal of 80 columns and 24 lines, with what is printed before and
// after it.
func printInvitation(out io.Writer, i invitation) {
	connect := clientProgram() + " --socket=" + i.Address
	if host, port, err := net.SplitHostPort(i.Address); err == nil {
		connect = fmt.Sprintf("%s --host=%s --port=%s", clientProgram(), host, port)
	}

	var b strings.Builder
	fmt.Fprintf(&b, "A private %s is running, with ttlproxy in front of it and an\n", i.Server)
	b.WriteString("application that fills four tables. Connect with any client; see the page:\n\n")
	fmt.Fprintf(&b, "  %s --user=%s --password=%s %s\n  http://%s\n\nStatements to try:\n\n",
		connect, demoUser, i.Password, demoSchema, i.Status)

	for n, t := range tries {
		fmt.Fprintf(&b, "  %d.  %-27s -- %s\n", n+1, t.statement, t.shows)
	}

	fmt.Fprintf(&b,
		"\nThe log is in %s. Ctrl-C ends the demo.\nRows in each table, and how many have been deleted:\n\n", i.Log)
	_, _ = io.WriteString(out, b.String())
}

// clientProgram is the name of the command-line client that is installed.
func clientProgram() string {
	for _, name := range []string{"mysql", "mariadb"} {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return "mysql"
}
