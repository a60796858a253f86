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
	Server, Address, Status, Log string
}

// tries are the statements to try, each with what it shows. A test runs them.
var tries = []struct{ statement, shows string }{
	{"SHOW TTL JOBS;", "what is being deleted, and why something is not"},
	{"SHOW CREATE TABLE session;", "the policy, in a comment that TiDB reads as well"},
	{"CREATE TABLE note (id INT AUTO_INCREMENT PRIMARY KEY, text TEXT, at DATETIME DEFAULT NOW(), KEY (at))\n" +
		"         TTL = at + INTERVAL 20 SECOND TTL_JOB_INTERVAL = '5s';", "a table of your own: insert rows and watch them go"},
	{"EXPLAIN TTL audit;", "how many rows are due, and how they would be deleted; most are, so its job waits"},
	{"APPROVE TTL JOB FOR audit;", "lets it go ahead"},
}

func printInvitation(out io.Writer, i invitation) {
	connect := clientProgram() + " --socket=" + i.Address
	if host, port, err := net.SplitHostPort(i.Address); err == nil {
		connect = fmt.Sprintf("%s --host=%s --port=%s", clientProgram(), host, port)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "A private %s is running, with ttlproxy in front of it and an application that fills four tables.\n\n", i.Server)
	fmt.Fprintf(&b, "Connect with any client:\n\n  %s --user=%s --password=%s %s\n\n", connect, demoUser, demoPassword, demoSchema)
	if i.Status != "" {
		fmt.Fprintf(&b, "See it in a browser: http://%s\n\n", i.Status)
	}
	b.WriteString("Statements to try:\n\n")
	for n, t := range tries {
		fmt.Fprintf(&b, "  %d.  %s\n       -- %s\n", n+1, t.statement, t.shows)
	}
	fmt.Fprintf(&b, "\nThe log is in %s. Ctrl-C ends the demo.\n\nRows in each table, and how many have been deleted:\n\n", i.Log)
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
