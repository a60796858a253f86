package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// lab is a copy of the tree in which mutants live, one at a time.
type lab struct {
	dir     string
	verbose bool
}

// newLab copies what git knows, and what is new.
func newLab(ctx context.Context, verbose bool) (*lab, error) {
	files, err := exec.CommandContext(ctx,
		"git", "ls-files", "--cached", "--others", "--exclude-standard", "-z").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}

	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}

	l := &lab{dir, verbose}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(files), "\x00"), "\x00") {
		if err := l.copy(name); err != nil && !errors.Is(err, os.ErrNotExist) { // it may be deleted and not committed
			l.close()
			return nil, err
		}
	}

	return l, nil
}

func (l *lab) copy(name string) error {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}

	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}

	to := filepath.Join(l.dir, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}

	return os.WriteFile(to, text, info.Mode().Perm())
}

func (l *lab) close() { _ = os.RemoveAll(l.dir) }

// verdict is what became of a mutant.
type verdict string

const (
	noticed  verdict = "noticed"
	survived verdict = "SURVIVED"
	stale    verdict = "STALE"  // its lines are not found, or not once
	broken   verdict = "BROKEN" // it does not build, or not everything ran
)

// try runs a mutant's tests, and puts back what was taken away.
func (l *lab) try(ctx context.Context, m mutant) (verdict, error) {
	path := filepath.Join(l.dir, m.file)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return stale, nil
	}
	if err != nil {
		return broken, err
	}

	mutated, ok := m.apply(string(text))
	if !ok {
		return stale, nil
	}
	if err := os.WriteFile(path, []byte(mutated), 0o644); err != nil {
		return broken, err
	}
	defer func() { _ = os.WriteFile(path, text, 0o644) }()

	output, passed := l.test(ctx, m.pkg, m.tests)
	switch {
	case ctx.Err() != nil:
		return broken, ctx.Err()
	case passed:
		return survived, nil
	case !strings.Contains(output, "--- FAIL") && !strings.Contains(output, "panic: "):
		fmt.Print(output)
		return broken, nil
	}

	return noticed, nil
}

// healthy makes sure that all tests exist, run and pass while nothing is taken away.
func (l *lab) healthy(ctx context.Context, mutants []mutant) error {
	tests := map[string][]string{}
	for _, m := range mutants {
		for _, test := range m.tests {
			if !slices.Contains(tests[m.pkg], test) {
				tests[m.pkg] = append(tests[m.pkg], test)
			}
		}
	}

	for pkg, names := range tests {
		output, passed := l.test(ctx, pkg, names, "-v")
		if !passed || strings.Contains(output, "--- SKIP") {
			return fmt.Errorf("without any mutant the tests of %s should pass, and none be skipped:\n%s", pkg, output)
		}

		for _, name := range names {
			top, _, _ := strings.Cut(name, "/")
			if !strings.Contains(output, "--- PASS: "+top+" ") {
				return fmt.Errorf("there is no test %s in %s", name, pkg)
			}
		}
	}

	return nil
}

// test runs tests by their names. A test that is named below another's, as Test/part, is run on its
// own.
func (l *lab) test(ctx context.Context, pkg string, names []string, flags ...string) (output string, passed bool) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()

	passed = true
	for _, pattern := range patterns(names) {
		arguments := append([]string{"test", "-count=1", "-failfast", "-timeout=15m", "-run=" + pattern}, flags...)
		cmd := exec.CommandContext(ctx, "go", append(arguments, pkg)...)
		cmd.Dir = l.dir
		cmd.Env = append(os.Environ(), "CI=true") // a server that is not there fails the test
		said, err := cmd.CombinedOutput()

		if l.verbose {
			fmt.Print(string(said))
		}

		output += string(said)
		passed = passed && err == nil
	}

	return output, passed
}

// patterns joins whole tests, and leaves parts of tests to themselves.
func patterns(names []string) []string {
	var whole, all []string
	for _, name := range names {
		if strings.Contains(name, "/") {
			all = append(all, "^"+strings.ReplaceAll(name, "/", "$/^")+"$")
		} else {
			whole = append(whole, name)
		}
	}
	if len(whole) > 0 {
		all = append(all, "^("+strings.Join(whole, "|")+")$")
	}
	return all
}
