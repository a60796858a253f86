package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// driver is the Go driver, whose own tests are built from the version that this module uses.
const driver = "github.com/go-sql-driver/mysql"

// goTest is the Go driver's tests.
type goTest struct {
	program string // the tests, built
	dir     string // of the driver's source
}

func newGoTest(ctx context.Context, dir string) (*goTest, error) {
	g := &goTest{program: filepath.Join(dir, "driver.test")}
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", g.program, driver).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the driver's tests: %w: %s", err, out)
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", driver).Output()
	g.dir = strings.TrimSpace(string(out))
	return g, err
}

func (g goTest) find(ctx context.Context, match *regexp.Regexp) ([]test, error) {
	out, err := exec.CommandContext(ctx, g.program, "-test.list", "^Test").Output()
	if err != nil {
		return nil, err
	}
	var found []test
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if name := lines.Text(); match.MatchString(name) {
			found = append(found, test{name: name})
		}
	}
	return found, nil
}

func (g goTest) command(ctx context.Context, t test, p place) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.program, "-test.run", "^"+t.name+"$")
	cmd.Dir = g.dir
	cmd.Env = append(os.Environ(), "MYSQL_TEST_ADDR=127.0.0.1:"+p.port, "MYSQL_TEST_USER=root", "MYSQL_TEST_PASS=",
		"MYSQL_TEST_DBNAME=test", "MYSQL_TEST_PROT=tcp")
	return cmd
}
