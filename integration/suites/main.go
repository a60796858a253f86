package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy"
)

func main() {
	var r runner
	match := flag.String("run", ".", "regular expression of the tests to run")
	flag.StringVar(&r.dir, "tests", "/usr/share/mysql/mysql-test", "directory of the suite")
	flag.StringVar(&r.mysqltest, "mysqltest", "mysqltest", "the program that plays the tests")
	flag.DurationVar(&r.timeout, "timeout", time.Minute, "how long a test may take")
	address := flag.String("server", "", "HOST:PORT of a server that root may log in to without a password, and that may be wrecked")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r.out = os.Stdout
	failed, err := r.main(ctx, *address, *match)
	if err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(1)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func (r *runner) main(ctx context.Context, address, match string) (failed int, err error) {
	re, err := regexp.Compile(match)
	if err != nil {
		return 0, err
	}
	tests, err := find(r.dir, re)
	if err != nil {
		return 0, err
	}
	if len(tests) == 0 {
		return 0, fmt.Errorf("no tests in %s", r.dir)
	}
	if r.server, err = open(ctx, address); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	plain, err := newRelay(ctx, address)
	if err != nil {
		return 0, err
	}
	running.Go(func() { plain.run(ctx) })
	p, err := proxy.New(ctx, proxy.Config{Listen: []string{"127.0.0.1:0"}, Backends: []string{address}, DrainTimeout: time.Second},
		slog.New(slog.NewTextHandler(io.Discard, nil)), proxy.NewMetrics(nil))
	if err != nil {
		return 0, err
	}
	running.Go(func() { p.Run(ctx) })
	r.relay, r.proxy = plain.address(), p.Addr().String()
	return r.run(ctx, tests)
}
