// Command soak holds many sessions open through one proxy, keeps some of them busy, and watches
// what that costs: the proxy's memory must stay bounded, no statement may fail, and what was opened
// must be closed again. With
// -tables it lets many tables be due at once instead: each must be cleaned, no other row may go, and it tells how
// long that takes, what the tables cost at rest, and how long a person waits who asks for one more job; the last job
// must have started after -most, on MySQL after twice that. With -history it writes so many jobs into the
// history and tells how long scrapes, pages and SHOW TTL take: the median may be no longer than
// -most. With -locked it lets an application hold two of so many expired rows and tells how long all
// others take to go, at worst no longer than -most. With -now so many rows expire per second, and it
// tells by the binary log how late each of them is deleted, at worst no later than -most; with -nodes
// 2 the proxy that leads is killed halfway, and with -tables it tells instead what so many such
// tables cost in which nothing happens.
//
//	go build -o bin/ ./cmd/... && go run ./bench/soak -proxy bin/ttlproxy -idle 5000 -busy 200 -for 30s
//	go run ./bench/soak -proxy bin/ttlproxy -tables 1000 -most 5s
//	go run ./bench/soak -proxy bin/ttlproxy -history 5000000 -most 20ms
//	go run ./bench/soak -proxy bin/ttlproxy -locked 100000 -most 3s
//	go run ./bench/soak -proxy bin/ttlproxy -now 1000 -for 10m -most 5s
//
// Each server is started privately (see package sandbox).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

type options struct {
	proxy      string
	idle, busy int
	length     time.Duration
	perSession int // KiB
	tables     int
	history    int
	locked     int
	now        int
	nodes      int
	most       time.Duration
	half, p99  time.Duration
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	var o options
	flags.StringVar(&o.proxy, "proxy", "bin/ttlproxy", "the program to run")
	flags.IntVar(&o.idle, "idle", 5000, "sessions that are logged in, used once, and silent")
	flags.IntVar(&o.busy, "busy", 200, "sessions that run statements all the time")
	flags.DurationVar(&o.length, "for", 30*time.Second, "how long they do")
	flags.IntVar(&o.perSession, "limit", 16, "KiB that a session may cost the proxy")
	flags.IntVar(&o.tables, "tables", 0, "instead: tables with a TTL, all due at once")
	flags.IntVar(&o.history, "history", 0,
		"instead: jobs in the history of 1,000 tables, and how long looks at them take")
	flags.IntVar(&o.locked, "locked", 0,
		"instead: expired rows of which the application holds two, and how long all others take to go")
	flags.IntVar(&o.now, "now", 0, "instead: rows that expire per second, and how late each of them is deleted")
	flags.IntVar(&o.nodes, "nodes", 1, "proxies beside them; with 2, the one that leads is killed halfway")
	flags.DurationVar(&o.most, "most", 0,
		"how long a look may take, or all others, or the start of all jobs, 0 for as long as they like")
	flags.DurationVar(&o.half, "half", 0, "how late half of the rows may be deleted, 0 for as late as it happens")
	flags.DurationVar(&o.p99, "p99", 0, "how late 99 % of them may be")
	servers := flags.String("servers", "mariadb,mysql", "what to run behind it")

	if err := flags.Parse(args); err != nil {
		return err
	}

	soak := o.soak
	switch {
	case o.now > 0:
		soak = o.soakNow
	case o.tables > 0:
		soak = o.soakTables
	case o.history > 0:
		soak = o.soakHistory
	case o.locked > 0:
		soak = o.soakLocked
	}

	for flavour := range strings.SplitSeq(*servers, ",") {
		if err := soak(ctx, sandbox.Flavour(flavour), out); err != nil {
			return fmt.Errorf("%s: %w", flavour, err)
		}
	}

	return nil
}

// soak does it with one server.
func (o options) soak(ctx context.Context, flavour sandbox.Flavour, out io.Writer) error {
	p, err := o.start(ctx, flavour, []string{
		fmt.Sprintf("--max-connections=%d", o.idle+o.busy+50), "--back-log=1000", "--innodb-buffer-pool-size=256M",
	}, []string{"--engine=off"})
	if err != nil {
		return err
	}
	defer p.Close()

	load := &load{address: p.proxy.Addr, account: p.account}
	err = o.watch(ctx, load, p.proxy.PID(), out, fmt.Sprintf("%s %s", flavour, p.server.Version))
	return errors.Join(err, load.close(), p.proxy.Stop())
}

// watch opens the sessions step by step and measures after each.
func (o options) watch(ctx context.Context, l *load, pid int, out io.Writer, name string) error {
	start, err := measure(pid)
	if err != nil {
		return err
	}
	if err := l.open(ctx, o.idle); err != nil {
		return err
	}

	idle, err := settled(ctx, pid)
	if err != nil {
		return err
	}

	statements, err := l.work(ctx, o.busy, o.length)
	if err != nil {
		return err
	}

	after, err := measure(pid)
	if err != nil {
		return err
	}

	perIdle := float64(idle.rss-start.rss) / float64(o.idle)
	fmt.Fprintf(out, "%s: at start %d MiB; with %d idle sessions %d MiB (%.1f KiB each, %d descriptors); "+
		"peak with %d more that ran %d statements in %v: %d MiB\n",
		name, start.rss>>10, o.idle, idle.rss>>10, perIdle, idle.descriptors, o.busy, statements, o.length,
		after.peak>>10)
	if perIdle > float64(o.perSession) {
		return fmt.Errorf("an idle session costs %.1f KiB, at most %d are allowed", perIdle, o.perSession)
	}

	const workingRoom = 64 << 10 // KiB: buffers of the busy ones, and the collector's
	if limit := start.rss + o.perSession*(o.idle+o.busy) + workingRoom; after.peak > limit {
		return fmt.Errorf("the proxy grew to %d MiB, at most %d are allowed", after.peak>>10, limit>>10)
	}

	return nil
}
