package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mtr is a server's regression tests: scripts that mysqltest runs.
type mtr struct {
	dir       string
	mysqltest string
}

func (m mtr) command(ctx context.Context, t test, p place) *exec.Cmd {
	cmd := exec.CommandContext(ctx, m.mysqltest, "--no-defaults", "--silent", "--protocol=tcp", "--host=127.0.0.1",
		"--port="+p.port,
		"--user=root", "--database=test", "--tmpdir="+filepath.Join(p.vardir, "tmp"),
		"--logdir="+filepath.Join(p.vardir, "log"), "--test-file="+t.file, "--result-file="+t.result)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(),
		"MYSQLTEST_VARDIR="+p.vardir, "MYSQL_TMP_DIR="+filepath.Join(p.vardir, "tmp"), "MYSQL_TEST_DIR="+m.dir,
		"MASTER_MYPORT="+p.port, "MASTER_MYSOCK="+p.socket, "USE_RUNNING_SERVER=1",
		"DEFAULT_MASTER_PORT="+p.port, "CHARSETSDIR=/usr/share/mysql/charsets", "LC_ALL=C")
	return cmd
}

// unfit matches what a test does that cannot be done to a server which others use, or that was
// started without what it asks for.
var unfit = regexp.MustCompile(`(?im)shutdown_server|restart_mysqld|kill_mysqld|kill_and_restart|` +
	`wait_until_disconnected\.inc|` +
	`big_test\.inc|have_debug|debug_sync|master-slave\.inc|rpl_init|source include/have_log_bin|` +
	`have_innodb_max|start_mysqld|^\s*shutdown\b|` +
	`\$MYSQLD\b|\$MYSQLD_CMD|--exec.*mysqld|install_semisync|include/not_valgrind_build`)

func (m mtr) find(_ context.Context, match *regexp.Regexp) ([]test, error) {
	tests, results := filepath.Join(m.dir, "main"), filepath.Join(m.dir, "main")
	if _, err := os.Stat(tests); err != nil { // MySQL keeps them apart
		tests, results = filepath.Join(m.dir, "t"), filepath.Join(m.dir, "r")
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
