package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"time"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

func main() {
	o := options{out: os.Stdout}
	flag.StringVar(&o.suite, "suite", "mariadb",
		"mariadb, mysql (the servers' tests), client (the C library's) or go (the Go driver's)")
	flag.StringVar(&o.flavour, "server", "", "mariadb or mysql: which server; empty: the one that the suite belongs to")
	flag.StringVar(&o.match, "run", ".", "regular expression of the tests to run")
	flag.StringVar(&o.dir, "tests", "", "directory of a server's suite; empty: where Debian puts it")
	flag.StringVar(&o.player, "player", "", "the program that plays the tests; empty: the one in the PATH")
	flag.StringVar(&o.program, "ttlproxy", "bin/ttlproxy", "the proxy to test")
	flag.DurationVar(&o.timeout, "timeout", time.Minute, "how long a test may take")
	flag.BoolVar(&o.verbose, "v", false, "say why a test fails without the proxy, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	worse, err := o.run(ctx)
	stop()

	if err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
	}
	if err != nil || worse > 0 {
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	suite, flavour, match, dir, player, program string
	timeout                                     time.Duration
	verbose                                     bool
	out                                         io.Writer
}

// run runs the suite and returns how many tests the proxy broke.
func (o *options) run(ctx context.Context) (worse int, err error) {
	os.Setenv("TZ", "GMT-3") // which the servers' suites were recorded in
	re, err := regexp.Compile(o.match)
	if err != nil {
		return 0, err
	}

	vardir, err := os.MkdirTemp("", "ttlproxy-suites-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(vardir)

	s, err := o.open(ctx, vardir)
	if err != nil {
		return 0, err
	}

	tests, err := s.find(ctx, re)
	if err != nil {
		return 0, err
	}
	if len(tests) == 0 {
		fmt.Fprintf(o.out,
			"suite %s: no tests are there. The servers' come with mariadb-test and mysql-testsuite; -tests and "+
				"-player name them elsewhere. Nothing was tested.\n", o.suite)
		return 0, nil
	}

	r := runner{
		suite: s, timeout: o.timeout, program: o.program, verbose: o.verbose, out: o.out, vardir: vardir,
		server: &server{flavour: sandbox.MariaDB},
	}
	if cmp.Or(o.flavour, o.suite) == "mysql" {
		r.server.flavour = sandbox.MySQL
	}
	defer r.server.close()

	return r.run(ctx, tests)
}

// open finds a suite.
func (o *options) open(ctx context.Context, vardir string) (suite, error) {
	switch o.suite {
	case "mariadb":
		return mtr{dir: cmp.Or(o.dir, "/usr/share/mysql/mysql-test"), mysqltest: cmp.Or(o.player, "mariadb-test")}, nil
	case "mysql":
		return mtr{dir: cmp.Or(o.dir, "/usr/lib/mysql-test"), mysqltest: cmp.Or(o.player, "mysqltest")}, nil
	case "client":
		return clientTest{program: cmp.Or(o.player, "mariadb-client-test")}, nil
	case "go":
		return newGoTest(ctx, vardir)
	}
	return nil, fmt.Errorf("there is no suite %q", o.suite)
}
