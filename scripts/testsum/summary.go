package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build events
	Test       string
	Output     string
	Elapsed    float64
}

// name identifies what an event is about: a test, a package or a build.
func (e event) name() string {
	if e.Test != "" {
		return e.Package + "." + e.Test
	}
	return cmp.Or(e.Package, e.ImportPath)
}

type summary struct {
	out             io.Writer
	passed, failed  int
	output          map[string][]string // what each unfinished test has printed
	skipped         map[string][]string // reason → tests
	logs            bool                // print what tests that pass have logged
	brokenInPackage map[string]int      // failed tests per package, to tell a crash from failed tests
}

func newSummary(out io.Writer) *summary {
	return &summary{
		out: out, output: map[string][]string{}, skipped: map[string][]string{},
		brokenInPackage: map[string]int{},
	}
}

func (s *summary) add(e event) {
	switch e.Action {
	case "output", "build-output":
		s.output[e.name()] = append(s.output[e.name()], e.Output)
		return
	case "build-fail":
		s.fail(e)
		return
	case "pass", "fail", "skip":
	default:
		return
	}

	if e.Test == "" {
		s.endPackage(e)
	} else {
		s.endTest(e)
	}

	delete(s.output, e.name())
}

func (s *summary) endTest(e event) {
	switch e.Action {
	case "pass":
		s.passed++
		if s.logs {
			fmt.Fprintf(s.out, "%s\n%s", e.name(), strings.Join(s.output[e.name()], ""))
		}
	case "fail":
		s.brokenInPackage[e.Package]++
		s.fail(e)
	case "skip":
		reason := skipReason(s.output[e.name()])
		s.skipped[reason] = append(s.skipped[reason], e.name())
	}
}

// endPackage prints a package's line. A package that fails without a failed test did not build,
// panicked outside of its tests or ran out of time; that counts as a failure of its own.
func (s *summary) endPackage(e event) {
	if e.Action != "skip" { // skip: no test files
		fmt.Fprintf(s.out, "%-4s %-60s %6.1fs\n", e.Action, e.Package, e.Elapsed)
	}
	if e.Action == "fail" && s.brokenInPackage[e.Package] == 0 {
		s.fail(e)
		s.printUnfinished(e.Package)
	}
}

// printUnfinished prints what the tests said that were running when their package ended: one of
// them hung or crashed.
func (s *summary) printUnfinished(pkg string) {
	for _, name := range slices.Sorted(maps.Keys(s.output)) {
		if test, ok := strings.CutPrefix(name, pkg+"."); ok {
			lines := s.output[name]
			fmt.Fprintf(s.out, "did not end: %s\n%s", test, strings.Join(lines[max(0, len(lines)-200):], ""))
			delete(s.output, name)
		}
	}
}

func (s *summary) fail(e event) {
	s.failed++
	fmt.Fprintf(s.out, "FAIL %s\n%s", e.name(), strings.Join(s.output[e.name()], ""))
}

// skipReason is the message of t.Skip, which the testing package prints behind the file and line:
// the last one, as a test may have logged before that. Only a story prints something behind it: its
// log, which begins with where it ran.
func skipReason(output []string) string {
	for _, line := range slices.Backward(output) {
		_, message, found := strings.Cut(strings.TrimSpace(line), ".go:")
		if !found {
			continue
		}
		if _, reason, found := strings.Cut(message, ": "); found && !strings.HasPrefix(reason, "WORK=") {
			return reason
		}
	}

	return "no reason given"
}

func (s *summary) report(missing []string, strict bool) {
	for _, reason := range slices.Sorted(maps.Keys(s.skipped)) {
		fmt.Fprintf(s.out, "skipped %d: %s\n", len(s.skipped[reason]), reason)
	}
	for _, server := range missing {
		fmt.Fprintf(s.out, "NOT TESTED on %s: no such server on this machine (see above)\n", server)
		if strict {
			s.failed++
		}
	}
	fmt.Fprintf(s.out, "%d passed, %d failed\n", s.passed, s.failed)
}
