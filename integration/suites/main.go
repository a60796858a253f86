package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

func main() {
	var r runner
	flavour := flag.String("suite", "mariadb", "mariadb or mysql")
	match := flag.String("run", ".", "regular expression of the tests to run")
	flag.StringVar(&r.dir, "tests", "", "directory of the suite; empty: where Debian puts it")
	flag.StringVar(&r.mysqltest, "mysqltest", "mysqltest", "the program that plays the tests")
	flag.DurationVar(&r.timeout, "timeout", time.Minute, "how long a test may take")
	flag.StringVar(&r.program, "ttlproxy", "bin/ttlproxy", "the proxy to test")
	flag.BoolVar(&r.verbose, "v", false, "say why a test fails without the proxy, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	r.out = os.Stdout
	r.server = &server{flavour: sandbox.MariaDB}
	if *flavour == "mysql" {
		r.server.flavour = sandbox.MySQL
	}
	r.dir = cmp.Or(r.dir, map[string]string{"mariadb": "/usr/share/mysql/mysql-test", "mysql": "/usr/lib/mysql-test"}[*flavour])
	worse, err := r.main(ctx, *match)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
	}
	if err != nil || worse > 0 {
		os.Exit(1)
	}
}

func (r *runner) main(ctx context.Context, match string) (worse int, err error) {
	os.Setenv("TZ", "GMT-3") // which the suites were recorded in
	re, err := regexp.Compile(match)
	if err != nil {
		return 0, err
	}
	if _, err := os.Stat(r.dir); err != nil {
		fmt.Fprintf(r.out, "%s is not there: install mariadb-test or mysql-testsuite, or name the suite's folder with -tests. Nothing was tested.\n", r.dir)
		return 0, nil
	}
	tests, err := find(r.dir, re)
	if err != nil {
		return 0, err
	}
	if len(tests) == 0 {
		return 0, fmt.Errorf("no tests in %s", r.dir)
	}
	defer r.server.close()
	return r.run(ctx, tests)
}
