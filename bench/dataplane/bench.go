package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// bench is one run of this command.
type bench struct {
	binary string
	server string
	rounds int
	turn   time.Duration
	idle   int
	out    io.Writer
}

func (b *bench) run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "ttlproxy-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	direct, end, err := b.findServer(ctx, dir)
	if err != nil {
		return err
	}
	defer end()

	targets := []*target{direct}
	h, err := startHAProxy(ctx, dir, direct.address)
	switch {
	case err == nil:
		defer h.stop()
		targets = append(targets, h)
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		fmt.Fprintln(b.out, "HAProxy is not installed: measured without it.")
	default:
		return err
	}

	p, err := startTTLProxy(ctx, b.binary, direct.address, "ttlproxy", false)
	if err != nil {
		return err
	}
	defer p.stop()
	targets = append(targets, p)

	if err := b.throughput(ctx, targets); err != nil {
		return err
	}
	if err := b.secured(ctx, direct, p); err != nil {
		return err
	}

	return b.memory(ctx, targets)
}

// throughput prints a table with a line for each workload, number of connections and target.
func (b *bench) throughput(ctx context.Context, targets []*target) error {
	fmt.Fprintf(b.out,
		"%d rounds of %v each, interleaved; medians. Latency as the client sees it. CPU of the target's own "+
			"process.\n\n", b.rounds, b.turn)
	b.head("× HAProxy")
	var pooled []float64
	for _, w := range workloads {
		for _, connections := range w.connections {
			results, err := b.rounded(ctx, targets, w, connections)
			if err != nil {
				return err
			}

			for i, t := range targets {
				var over []float64
				if t.name != "direct" {
					over = ratios(results, targets, i, "haproxy")
				}
				if t.name == "ttlproxy" && w.steers {
					pooled = append(pooled, over...)
				}
				b.line(w.name, connections, t, results[i], over)
			}
		}
	}

	if len(pooled) > 0 {
		fmt.Fprintf(b.out,
			"\nCPU per query, ttlproxy to HAProxy in the same round: median %.2f of %d pairs (the bar is 1.40)\n",
			median(pooled), len(pooled))
	}

	return nil
}

// secured prints the same with TLS on the client's leg, on the server's and on both, compared with
// none.
func (b *bench) secured(ctx context.Context, direct, plain *target) error {
	client := *plain
	client.name, client.secured, client.cmd = "client TLS", true, nil
	server, err := startTTLProxy(ctx, b.binary, direct.address, "server TLS", true)
	if err != nil {
		return err
	}
	defer server.stop()

	both := *server
	both.name, both.secured, both.cmd = "both TLS", true, nil
	straight := *direct
	straight.name, straight.secured = "direct TLS", true
	targets := []*target{&straight, plain, &client, server, &both}

	// the first proxy offers TLS to its clients, and none to the server
	fmt.Fprintln(b.out)
	b.head("× plain")
	for _, w := range workloads {
		if !w.secured {
			continue
		}

		results, err := b.rounded(ctx, targets, w, 8)
		if err != nil {
			return err
		}

		for i, t := range targets {
			var over []float64
			if i > 1 {
				over = ratios(results, targets, i, plain.name)
			}
			b.line(w.name, 8, t, results[i], over)
		}
	}

	return nil
}

func (b *bench) head(compared string) {
	fmt.Fprintf(b.out, "%-13s %5s  %-10s %9s %9s %9s %9s %14s %12s\n",
		"workload", "conn", "target", "queries/s", "p50 µs", "p95 µs", "p99 µs", "CPU µs/query", compared)
}

// line prints the medians of one target's rounds.
func (b *bench) line(workload string, connections int, t *target, r []result, over []float64) {
	ratio := ""
	if len(over) > 0 {
		ratio = fmt.Sprintf("%.2f", median(over))
	}
	fmt.Fprintf(b.out, "%-13s %5d  %-10s %9.0f %9.0f %9.0f %9.0f %14.1f %12s\n", workload, connections, t.name,
		median(each(r, func(r result) float64 { return float64(r.queries) / r.took.Seconds() })),
		median(each(r, func(r result) float64 { return micros(r.p50) })),
		median(each(r, func(r result) float64 { return micros(r.p95) })),
		median(each(r, func(r result) float64 { return micros(r.p99) })),
		median(each(r, perQuery)), ratio)
}

// rounded gives each target its turn, as often as there are rounds.
func (b *bench) rounded(ctx context.Context, targets []*target, w workload, connections int) ([][]result, error) {
	results := make([][]result, len(targets))
	for range b.rounds {
		for i, t := range targets {
			r, err := run(ctx, t, w, connections, b.turn)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			results[i] = append(results[i], r)
		}
	}
	return results, nil
}

// memory prints what idle sessions cost.
func (b *bench) memory(ctx context.Context, targets []*target) error {
	fmt.Fprintf(b.out,
		"\n%d idle sessions, each used once for a result of 20 kB: growth of resident memory per session\n\n", b.idle)
	for _, t := range targets {
		if t.name == "direct" {
			continue
		}

		before := t.memory()
		var clients []*client
		for range b.idle {
			c, err := dial(ctx, t.address, t.secured)
			if err != nil {
				return fmt.Errorf("%s, session %d: %w", t.name, len(clients), err)
			}

			clients = append(clients, c)
			if err := c.query(rangeOf100()); err != nil {
				return err
			}
		}

		<-time.After(time.Second)
		fmt.Fprintf(b.out, "%-9s %6.1f kB\n", t.name, float64(t.memory()-before)/1024/float64(b.idle))
		for _, c := range clients {
			c.conn.Close()
		}
	}

	return nil
}

func each(rs []result, f func(result) float64) []float64 {
	out := make([]float64, len(rs))
	for i, r := range rs {
		out[i] = f(r)
	}
	return out
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func perQuery(r result) float64 { return micros(r.cpu) / float64(max(r.queries, 1)) }

// ratios compares a target's CPU time with another's, round by round.
func ratios(results [][]result, targets []*target, i int, with string) []float64 {
	h := slices.IndexFunc(targets, func(t *target) bool { return t.name == with })
	if h < 0 {
		return nil
	}
	var out []float64
	for round, r := range results[i] {
		if base := perQuery(results[h][round]); base > 0 {
			out = append(out, perQuery(r)/base)
		}
	}
	return out
}
