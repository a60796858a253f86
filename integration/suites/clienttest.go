package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os/exec"
	"regexp"
	"strings"
)

// clientTest is the tests of a C client library, which are functions of one program.
type clientTest struct {
	program string
}

func (c clientTest) find(ctx context.Context, match *regexp.Regexp) ([]test, error) {
	out, err := exec.CommandContext(ctx, c.program, "--show-tests").Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	var found []test
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		name := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(name, "test_") && match.MatchString(name) {
			found = append(found, test{name: name})
		}
	}

	return found, nil
}

func (c clientTest) command(ctx context.Context, t test, p place) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.program, "--no-defaults", "--host=127.0.0.1", "--port="+p.port, "--user=root",
		"--vardir="+p.vardir, "--silent", t.name)
	cmd.Dir = p.vardir
	return cmd
}
