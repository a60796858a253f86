package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// runner runs tests through the relay and through the proxy.
type runner struct {
	suite   suite
	timeout time.Duration
	program string
	verbose bool
	out     io.Writer
	server  *server
	ways    *ways
	vardir  string
}

// test is one test of a suite.
type test struct {
	name   string
	file   string // of a suite that has files
	result string
}

// suite is a collection of tests, and how to run them.
type suite interface {
	// find lists the tests whose names match; none if the suite is not installed.
	find(ctx context.Context, match *regexp.Regexp) ([]test, error)
	// command runs a test. It exits with 0 when the test passes and with 62 when it cannot be run
	// here.
	command(ctx context.Context, t test, p place) *exec.Cmd
}

// place is where a test is run.
type place struct {
	port   string // of the relay or the proxy, on 127.0.0.1
	socket string // of the server
	vardir string // for the test's files
}

// outcome is how a test ended.
type outcome string

const (
	passed  outcome = "passed"
	skipped outcome = "skipped"
	failed  outcome = "failed"
)

// run runs all tests and returns how many passed through the relay and not through the proxy.
func (r *runner) run(ctx context.Context, tests []test) (int, error) {
	for _, dir := range []string{"tmp", "log", "run"} {
		if err := os.MkdirAll(filepath.Join(r.vardir, dir), 0o777); err != nil {
			return 0, err
		}
	}
	defer r.leave()

	count := make(map[outcome]int)
	var worse []string
	for i, t := range tests {
		direct, why, err := r.once(ctx, t, func(w *ways) string { return w.relay })
		if err != nil {
			return 0, err
		}

		if direct != passed {
			count[direct]++
			if r.verbose {
				fmt.Fprintf(r.out, "%s: %s through the relay: %s\n", t.name, direct, why)
			}
			continue
		}

		through, output, err := r.twice(ctx, t)
		if err != nil {
			return 0, err
		}
		if through == passed {
			count[passed]++
			continue
		}
		if why, ok := excused[t.name]; ok {
			fmt.Fprintf(r.out, "%s is excused: %s\n", t.name, why)
			continue
		}

		worse = append(worse, t.name)
		fmt.Fprintf(r.out, "%s passes through the relay and %s through the proxy (%d of %d):\n%s\n",
			t.name, through, i+1, len(tests), output)
	}

	fmt.Fprintf(r.out,
		"%d tests: %d pass through both, %d pass through the relay only, %d fail and %d are skipped also without the "+
			"proxy\n",
		len(tests), count[passed], len(worse), count[failed], count[skipped])
	for _, name := range worse {
		fmt.Fprintln(r.out, "  "+name)
	}

	return len(worse), nil
}

// twice runs a test through the proxy. One that fails and then passes was disturbed by something
// else; some tests are.
func (r *runner) twice(ctx context.Context, t test) (outcome, string, error) {
	through := func(w *ways) string { return w.proxy }
	o, output, err := r.once(ctx, t, through)
	if o == failed && err == nil {
		return r.once(ctx, t, through)
	}
	return o, output, err
}

// ready resets the server, or starts another if that is not possible any more.
func (r *runner) ready(ctx context.Context) error {
	if r.ways != nil && r.server.reset(ctx) == nil {
		return nil
	}
	r.leave()
	if err := r.server.start(ctx); err != nil {
		return err
	}
	var err error
	if r.ways, err = openWays(ctx, r.program, r.server.sandbox.Addr()); err != nil {
		return err
	}
	return r.server.reset(ctx)
}

func (r *runner) leave() {
	if r.ways != nil {
		r.ways.stop()
		r.ways = nil
	}
}

// once resets the server and runs a test.
func (r *runner) once(ctx context.Context, t test, way func(*ways) string) (outcome, string, error) {
	if err := r.ready(ctx); err != nil {
		return failed, "", fmt.Errorf("before %s: %w", t.name, err)
	}

	address := way(r.ways)
	limited, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()

	cmd := r.suite.command(limited, t, place{port: port(address), socket: r.server.sandbox.Socket(), vardir: r.vardir})
	cmd.WaitDelay = 5 * time.Second
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	const skip = 62 // with which a test says that it cannot be run here

	switch {
	case ctx.Err() != nil:
		return failed, "", ctx.Err()
	case err == nil:
		return passed, "", nil
	case errors.As(err, &exit) && exit.ExitCode() == skip:
		return skipped, "", nil
	case errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay):
		return failed, string(output[max(0, len(output)-2000):]), nil
	}

	return failed, "", err
}
