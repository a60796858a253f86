// Command delete measures how fast expired rows are deleted, by ttlproxy's engine and by what
// people use instead.
//
// Every way deletes the same rows of the same table, freshly filled: half of the rows are expired,
// there is one secondary index and none on the date. The ways take turns, so that a slow minute of
// the machine affects all of them; the medians are printed.
//
//	go run ./bench/delete -rows 1000000 -runs 5
//
// With -busy an application updates other rows of the table meanwhile, and its latencies are
// printed: median, 99th percentile and the longest.
//
// Servers are started privately (see package sandbox), or named by -mariadb and -mysql.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	rows, runs, workers int
	target              int
	only                string
	busy, verbose       bool
	dsn                 map[sandbox.Flavour]*string
}

func (o options) wants(w way) bool {
	named := o.only == "" || slices.Contains(strings.Split(o.only, ","), w.name)
	return named && (o.busy || !w.busyOnly)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("delete", flag.ContinueOnError)
	o := options{dsn: map[sandbox.Flavour]*string{}}
	flags.IntVar(&o.rows, "rows", 1_000_000, "rows of the table; half of them are expired")
	flags.IntVar(&o.runs, "runs", 5, "runs of each way; the median counts")
	flags.IntVar(&o.workers, "workers", 4, "workers of ttlproxy and of the key lists")
	flags.IntVar(&o.target, "target", 50, "ttl_batch_target_ms")
	flags.BoolVar(&o.busy, "busy", false,
		"let an application update other rows of the table meanwhile, and tell how long that takes")
	flags.BoolVar(&o.verbose, "v", false, "show the engine's log")
	flags.StringVar(&o.only, "only", "", "names of the ways to run, comma separated; all when empty")
	o.dsn[sandbox.MariaDB] = flags.String("mariadb", "", "DSN of a MariaDB to use; \"none\" leaves it out")
	o.dsn[sandbox.MySQL] = flags.String("mysql", "", "DSN of a MySQL to use; \"none\" leaves it out")

	if err := flags.Parse(args); err != nil {
		return err
	}

	for _, flavour := range []sandbox.Flavour{sandbox.MariaDB, sandbox.MySQL} {
		if *o.dsn[flavour] == "none" {
			continue
		}
		if err := measure(ctx, flavour, o, out); err != nil {
			return fmt.Errorf("%s: %w", flavour, err)
		}
	}

	return nil
}

// measure runs all ways on one server, in turns.
func measure(ctx context.Context, flavour sandbox.Flavour, o options, out io.Writer) error {
	cfg, release, err := server(ctx, flavour, *o.dsn[flavour])
	if err != nil {
		return err
	}
	defer release()

	b, err := newBench(ctx, cfg, o)
	if err != nil {
		return err
	}
	defer b.close(context.WithoutCancel(ctx))

	fmt.Fprintf(out, "%s %s, %d rows of about 200 bytes, half expired, median of %d runs\n",
		flavour, b.version, o.rows, o.runs)
	speeds, updates := map[string][]float64{}, map[string][]time.Duration{}
	for run := range o.runs {
		for i := range ways {
			w := ways[(run+i)%len(ways)] // no way always comes after the same other
			if !o.wants(w) {
				continue
			}
			if err := b.fill(ctx); err != nil {
				return err
			}

			application := func() ([]time.Duration, error) { return nil, nil }
			if o.busy {
				application = b.foreground(ctx)
			}

			rows, took, err := w.run(ctx, b)
			felt, failed := application()
			if err := errors.Join(err, failed); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}

			speeds[w.name] = append(speeds[w.name], float64(rows)/took.Seconds())
			updates[w.name] = append(updates[w.name], felt...)
		}
	}

	for _, w := range ways {
		if all := speeds[w.name]; len(all) > 0 {
			slices.Sort(all)
			fmt.Fprintf(out, "  %-12s %9.0f rows/s   %s%s\n",
				w.name, all[len(all)/2], latencies(updates[w.name]), w.text)
		}
	}

	return nil
}

// server starts a private server, unless a DSN names one.
func server(ctx context.Context, flavour sandbox.Flavour, dsn string) (*mysql.Config, func(), error) {
	if dsn != "" {
		cfg, err := mysql.ParseDSN(dsn)
		return cfg, func() {}, err
	}

	// A redo log that is small for the buffer pool would measure how fast pages are flushed.
	args := []string{"--innodb-buffer-pool-size=1G", "--innodb-log-file-size=512M"}
	if flavour == sandbox.MySQL {
		args[1] = "--innodb-redo-log-capacity=512M"
	}

	s, err := sandbox.Start(ctx, sandbox.Config{Flavour: flavour, Args: args})
	if err != nil {
		return nil, nil, err
	}

	return s.Config(""), func() { _ = s.Close() }, nil
}

// timed measures f.
func timed(f func() error) (time.Duration, error) {
	began := time.Now()
	err := f()
	return time.Since(began), err
}
