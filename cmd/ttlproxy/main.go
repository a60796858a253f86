package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // zones of policies must not depend on what the machine has installed
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once: after the first, signals have their default effect.
	context.AfterFunc(ctx, stop)
	os.Exit(exitCode(run(ctx, os.Args[1:],
		world{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.LookupEnv}), os.Stderr))
}

// usageError is a mistake in how the program was called.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// exitCode says in one line what went wrong.
func exitCode(err error, stderr interface{ WriteString(string) (int, error) }) int {
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		_, _ = stderr.WriteString("ttlproxy: " + visible(err.Error()) + "\n")
		return 2
	default:
		_, _ = stderr.WriteString("ttlproxy: " + visible(err.Error()) + "\n")
		return 1
	}
}
