package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// call runs the program with arguments and an empty environment.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	err := run(t.Context(), args, world{
		stdout: &out, stderr: &errs,
		getenv: func(string) (string, bool) { return "", false },
	})
	code = exitCode(err, &errs)
	return code, out.String(), errs.String()
}

func TestWrongUsageExitsWithTwoAndOneLine(t *testing.T) {
	for _, args := range [][]string{
		{"sevre"},
		{"serve", "--bakcend=x"},
		{"serve", "--listen"},
		{"serve", "surplus"},
		{"serve", "--engine=maybe", "--backend=x:1", "--engine-user=u"},
		{"serve"},
		{"serve", "--backend=x:1"},
	} {
		code, _, stderr := call(t, args...)
		if code != 2 || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "ttlproxy: ") {
			t.Errorf("%v: exit code %d and %q, want 2 and one line", args, code, stderr)
		}
	}
}

func TestHelpIsNoMistake(t *testing.T) {
	for _, args := range [][]string{
		{"help"},
		{"--help"},
		{"-h"},
		{"serve", "--help"},
		{"help", "serve"},
		{"version"},
		{"--version"},
	} {
		code, stdout, stderr := call(t, args...)
		if code != 0 || stdout == "" || stderr != "" {
			t.Errorf("%v: exit code %d, %d bytes of help, %q on standard error", args, code, len(stdout), stderr)
		}
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	for _, c := range commands() {
		_, stdout, _ := call(t, c.name, "--help")
		for line := range strings.Lines(stdout) {
			if len(line) > 81 {
				t.Errorf("%s: a line of the help is %d wide: %s", c.name, len(line), line)
			}
		}
		if !strings.Contains(stdout, "Usage: ttlproxy "+c.name) || c.summary == "" || c.text == "" {
			t.Errorf("%s: help without usage, summary or text:\n%s", c.name, stdout)
		}
	}
}

func TestInvitationFitsOnASmallTerminal(t *testing.T) {
	var b strings.Builder
	printInvitation(&b, invitation{
		Server: "MariaDB 10.11.19", Password: newDemoPassword(), Address: "127.0.0.1:4000", Status: "127.0.0.1:4080",
		Log: "/tmp/ttlproxy-1234567890/ttlproxy.log",
	})
	lines := strings.Split(b.String(), "\n")
	if len(lines) > 22 { // of 24: "Starting a private server…" stands before it, and the shell's next line behind it
		t.Errorf("%d lines", len(lines))
	}

	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
