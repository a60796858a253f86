package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// test is one file of a suite.
type test struct {
	name   string
	file   string
	result string
}

// unfit matches what a test does that cannot be done to a server which others use, or that was started without what it asks for.
var unfit = regexp.MustCompile(`(?im)shutdown_server|restart_mysqld|kill_mysqld|kill_and_restart|wait_until_disconnected\.inc|` +
	`big_test\.inc|have_debug|debug_sync|master-slave\.inc|rpl_init|source include/have_log_bin|have_innodb_max|start_mysqld|^\s*shutdown\b|` +
	`\$MYSQLD\b|\$MYSQLD_CMD|--exec.*mysqld|install_semisync|include/not_valgrind_build`)

// find lists the tests of a suite in a directory, whose names match.
func find(dir string, match *regexp.Regexp) ([]test, error) {
	tests, results := filepath.Join(dir, "main"), filepath.Join(dir, "main")
	if _, err := os.Stat(tests); err != nil { // MySQL keeps them apart
		tests, results = filepath.Join(dir, "t"), filepath.Join(dir, "r")
	}
	files, err := filepath.Glob(filepath.Join(tests, "*.test"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var found []test
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".test")
		if match.MatchString(name) && fits(f, name) {
			found = append(found, test{name: name, file: f, result: filepath.Join(results, name+".result")})
		}
	}
	return found, nil
}

// fits reports whether a test can be run against any server.
func fits(file, name string) bool {
	for _, suffix := range []string{"-master.opt", "-master.sh", ".cnf", "-slave.opt"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), name+suffix)); err == nil {
			return false
		}
	}
	b, err := os.ReadFile(file)
	return err == nil && !unfit.Match(bytes.ToValidUTF8(b, nil))
}
