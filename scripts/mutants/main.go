// Mutants takes the guards of the safety rules away, one at a time, in a copy of the tree, and runs
// the tests that are named for each. A mutant whose tests still pass has survived: a test is
// missing. One whose lines are no longer found has to be rewritten. The list is mutants.txt, which
// says what a mutant looks like.
//
//	go run ./scripts/mutants [-run REGEXP] [-fit] [-trust] [-v]
//
// It ends with "N passed, M failed" and exits with 1 unless every mutant was noticed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	failed, err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if err != nil || failed > 0 {
		os.Exit(1)
	}
}

// run tries the mutants that are asked for and counts those that nobody noticed.
func run(ctx context.Context) (failed int, err error) {
	wanted := flag.String("run", "", "only the mutants whose name matches this `regexp`")
	fit := flag.Bool("fit", false, "only look whether each mutant still fits the code")
	trust := flag.Bool("trust", false, "do not run the tests first without any mutant")
	verbose := flag.Bool("v", false, "show what go test said")
	flag.Parse()

	pattern, err := regexp.Compile(*wanted)
	if err != nil {
		return 0, fmt.Errorf("-run: %w", err)
	}

	list, err := os.ReadFile("scripts/mutants/mutants.txt")
	if err != nil {
		return 0, fmt.Errorf("run it at the top of the tree: %w", err)
	}

	mutants, err := parse(string(list))
	if err != nil {
		return 0, err
	}

	mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !pattern.MatchString(m.name) })
	if *fit {
		return misfits(mutants)
	}

	l, err := newLab(ctx, *verbose)
	if err != nil {
		return 0, err
	}
	defer l.close()

	if !*trust {
		if err := l.healthy(ctx, mutants); err != nil {
			return 0, err
		}
	}

	for _, m := range mutants {
		began := time.Now()
		how, err := l.try(ctx, m)
		if err != nil {
			return failed, err
		}
		if how != noticed {
			failed++
		}

		fmt.Printf("%-9s %5.1fs  %s (%s %s)\n",
			how, time.Since(began).Seconds(), m.name, m.pkg, strings.Join(m.tests, " "))
	}

	fmt.Printf("%d passed, %d failed\n", len(mutants)-failed, failed)
	return failed, ctx.Err()
}

// misfits names the mutants that have to be rewritten.
func misfits(mutants []mutant) (failed int, err error) {
	for _, m := range mutants {
		text, err := os.ReadFile(m.file)
		if err != nil {
			return failed, err
		}
		if _, ok := m.apply(string(text)); !ok {
			failed++
			fmt.Printf("%s  %s (%s)\n", stale, m.name, m.file)
		}
	}
	fmt.Printf("%d passed, %d failed\n", len(mutants)-failed, failed)
	return failed, nil
}
