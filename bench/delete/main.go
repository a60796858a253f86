// Command delete measures how fast expired rows are deleted, by ttlproxy's engine and by what
// people use instead.
//
// Every way deletes the same rows of the same table, freshly filled: half of the rows are expired,
// there is one secondary index and none on the date. The ways take turns, so that a slow minute of
// the machine affects all of them; the medians are printed.
//
//	go run ./bench/delete -rows 1000000 -runs 5
//
// With -busy an application works on other rows of the table meanwhile, and it is told what it
// feels of each way. Its statements arrive by the clock, never only after the last answer, and each
// is timed from when it should have been sent: whoever waits for a stall is counted. By turns the
// application is busy and idle. The real program is used, as users run it; the application goes
// through it or beside it. With -replica the server has one, whose lag is told.
//
//	go build -o bin/ ./cmd/... && go run ./bench/delete -busy -replica
//
// With -plot there is a picture of latency and speed over time for each server, as in docs/images:
//
//	go run ./bench/delete -busy -only ttlproxy,unthrottled -runs 1 -plot docs/images
//
// With -children every expired row has so many rows of another table behind it, which go along
// (TTL_FK = 'CHILDREN', or a cascade of the server's); with -referenced one of another table points at
// some of the rows, which stay (TTL_FK = 'SKIP').
//
//	go run ./bench/delete -rows 100000 -children 10
//	go run ./bench/delete -referenced 30
//
// With -partitions the expired rows are a partition, and deleting them is compared with letting it go whole
// (TTL_PARTITION): time, binary log, and files that are left. With -unindexed the rows have to be counted first.
//
//	go run ./bench/delete -partitions -rows 10000000 -runs 1
//	go run ./bench/delete -partitions -unindexed -rows 10000000 -runs 1 -only "by rows,DROP"
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
	replica, durable    bool
	rate, idleRate      float64
	children            int // behind each expired row; negative for no such table
	referenced          int // percent of the expired rows; negative for no such table
	partitions          bool
	unindexed           bool // the date is not
	step, alone         time.Duration
	proxy, plot, set    string
	dsn                 map[sandbox.Flavour]*string
}

// wants reports whether a way is to be measured: those that only make sense beside an application,
// or only without one, have a mark.
func (o options) wants(w way) bool {
	if o.only != "" {
		return slices.Contains(strings.Split(o.only, ","), w.name)
	}
	switch w.when {
	case busyOnly:
		return o.busy
	case quietOnly:
		return !o.busy
	case keyedOnly:
		return o.keyed()
	default:
		return true
	}
}

// check says what does not go together.
func (o options) check() error {
	switch {
	case o.keyed() && o.busy:
		return errors.New("foreign keys are measured without an application")
	case o.partitions && (o.keyed() || o.busy):
		return errors.New("partitions are measured without foreign keys and without an application")
	case !o.busy && (o.replica || o.plot != "" || o.set != ""):
		return errors.New("-replica, -plot and -set are for measuring with -busy")
	case o.only == "":
		return nil
	}

	for name := range strings.SplitSeq(o.only, ",") {
		i := slices.IndexFunc(ways, func(w way) bool { return w.name == name })
		if i < 0 {
			return fmt.Errorf("-only: there is no way %q", name)
		}
		if ways[i].when == busyOnly && !o.busy {
			return fmt.Errorf("-only: %s is measured with -busy", name)
		}
	}
	return nil
}

// smaller takes what -quick leaves.
func (o *options) smaller() {
	o.rows, o.runs = min(o.rows, 20_000), 1
	o.step, o.alone = min(o.step, time.Second), min(o.alone, 2*time.Second)
	o.rate = min(o.rate, 200)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("delete", flag.ContinueOnError)
	o := options{dsn: map[sandbox.Flavour]*string{}}
	flags.IntVar(&o.rows, "rows", 1_000_000, "rows of the table; half of them are expired")
	flags.IntVar(&o.runs, "runs", 5, "runs of each way; the median counts, with -busy all of them")
	flags.IntVar(&o.workers, "workers", 4, "workers of ttlproxy and of the key lists")
	flags.IntVar(&o.target, "target", 50, "ttl_batch_target_ms, without -busy")
	flags.BoolVar(&o.busy, "busy", false,
		"let an application work on other rows of the table, and tell what it feels")
	flags.BoolVar(&o.replica, "replica", false, "with -busy: the server has a replica, whose lag is told")
	flags.BoolVar(&o.durable, "durable", false, "flush redo and binary log at every commit")
	flags.Float64Var(&o.rate, "rate", 500, "with -busy: statements of the busy application per second")
	flags.Float64Var(&o.idleRate, "idle-rate", 10, "with -busy: statements of the idle application per second")
	flags.DurationVar(&o.step, "step", 2*time.Second,
		"with -busy: how long the application is busy or idle, by turns; 0: it is always busy")
	flags.DurationVar(&o.alone, "alone", 8*time.Second, "with -busy: how long the application is watched alone")
	flags.StringVar(&o.proxy, "proxy", "bin/ttlproxy", "with -busy: the program to run")
	flags.StringVar(&o.plot, "plot", "",
		"with -busy: a folder for pictures of latency and speed over time, with and without ttl_throttle_…")
	flags.StringVar(&o.set, "set", "",
		"with -busy: settings of ttlproxy to try instead of the defaults, as in SET GLOBAL: 'ttl_throttle_probe = 250'")
	flags.IntVar(&o.children, "children", -1, "rows of another table that go along with each, by a foreign key")
	flags.IntVar(&o.referenced, "referenced", -1, "percent of the expired rows that stay, for a foreign key")
	flags.BoolVar(&o.partitions, "partitions", false, "compare deleting a partition's rows with letting it go whole")
	flags.BoolVar(&o.unindexed, "unindexed", false, "with -partitions: without an index on the date")
	quick := flags.Bool("quick", false, "a small table and a short time, to see that it works")
	flags.BoolVar(&o.verbose, "v", false, "show the engine's log")
	flags.StringVar(&o.only, "only", "", "names of the ways to run, comma separated; all when empty")
	o.dsn[sandbox.MariaDB] = flags.String("mariadb", "", "DSN of a MariaDB to use; \"none\" leaves it out")
	o.dsn[sandbox.MySQL] = flags.String("mysql", "", "DSN of a MySQL to use; \"none\" leaves it out")

	if err := flags.Parse(args); err != nil {
		return err
	}

	if err := o.check(); err != nil {
		return err
	}
	if *quick {
		o.smaller()
	}

	measure := speeds
	switch {
	case o.busy:
		measure = beside
	case o.partitions:
		measure = partitions
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

// speeds runs all ways on one server, in turns, and tells how fast they are.
func speeds(ctx context.Context, flavour sandbox.Flavour, o options, out io.Writer) error {
	b, err := newBench(ctx, flavour, o)
	if err != nil {
		return err
	}
	defer b.close(context.WithoutCancel(ctx))

	fmt.Fprintf(out, "%s %s, %d rows of about 200 bytes, half expired%s, median of %d runs\n",
		flavour, b.version, o.rows, o.kin(), o.runs)
	all := map[string][]float64{}
	err = b.turns(func(w way) error {
		if err := b.fill(ctx); err != nil {
			return err
		}
		rows, took, err := w.run(ctx, b)
		if left, ok := errors.AsType[*leftOut](err); ok {
			fmt.Fprintf(out, "  %-12s left out: %s\n", w.name, left.why)
			return nil
		}
		all[w.name] = append(all[w.name], float64(rows)/took.Seconds())
		return err
	})
	if err != nil {
		return err
	}

	for _, w := range ways {
		if all := all[w.name]; len(all) > 0 {
			slices.Sort(all)
			fmt.Fprintf(out, "  %-12s %9.0f rows/s   %s\n", w.name, all[len(all)/2], w.text)
		}
	}

	return nil
}

// turns runs all ways that are wanted; no way always comes after the same other.
func (b *bench) turns(once func(way) error) error {
	for run := range b.runs {
		for i := range ways {
			w := ways[(run+i)%len(ways)]
			if !b.wants(w) {
				continue
			}
			if err := once(w); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	return nil
}

// timed measures f.
func timed(f func() error) (time.Duration, error) {
	began := time.Now()
	err := f()
	return time.Since(began), err
}
