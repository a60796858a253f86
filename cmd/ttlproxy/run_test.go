package main

import (
	"strings"
	"testing"
)

// call runs the program with arguments and an empty environment.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	err := run(t.Context(), args, world{stdout: &out, stderr: &errs, getenv: func(string) (string, bool) { return "", false }})
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
	for _, args := range [][]string{{"help"}, {"--help"}, {"-h"}, {"serve", "--help"}, {"help", "serve"}, {"version"}, {"--version"}} {
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
