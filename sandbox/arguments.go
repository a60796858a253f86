package sandbox

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// arguments are those of a small server that behaves like a production one where it matters to us
// (row binlog on), and saves what a throw-away server need not spend (flushing to disk at each
// commit, memory).
func (s *Server) arguments() []string {
	args := []string{
		"--no-defaults",
		"--datadir=" + s.data(),
		"--tmpdir=" + filepath.Join(s.dir, "tmp"),
		"--socket=" + s.Socket(),
		"--pid-file=" + filepath.Join(s.dir, "server.pid"),
		"--port=" + strconv.Itoa(s.port),
		"--bind-address=127.0.0.1",
		resolve,
		"--server-id=1",
		"--log-bin=binlog",
		"--max-connections=500",
		"--max-allowed-packet=64M",
		"--local-infile=1",
		"--innodb-buffer-pool-size=128M",
		"--innodb-flush-log-at-trx-commit=2",
		"--sync-binlog=0",
		"--secure-file-priv=" + filepath.Join(s.dir, filesDir), // with our rights, files are written nowhere else
	}

	if s.Flavour == MySQL {
		args = append(args, "--mysqlx=OFF", "--innodb-redo-log-capacity=64M")
	} else {
		args = append(args, "--innodb-log-file-size=64M", "--binlog-format=ROW")
	}

	if slices.ContainsFunc(s.args, func(arg string) bool { return strings.HasPrefix(arg, resolve+"=") }) {
		args = slices.DeleteFunc(args, func(arg string) bool { return arg == resolve })
	}

	return append(append(args, asUser()...), s.args...)
}

// filesDir is where statements may read and write files.
const filesDir = "files"

// resolve is an option that MySQL does not take back when it comes again with another value.
const resolve = "--skip-name-resolve"

// born are the arguments that MySQL must be given when its data directory is created: it never
// changes its mind about the case of names.
func (s *Server) born() []string {
	if s.Flavour != MySQL {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.args),
		func(arg string) bool { return !strings.HasPrefix(arg, "--lower-case-table-names=") })
}

// portWasTaken reports whether the server's log says so.
func (s *Server) portWasTaken() bool {
	return strings.Contains(strings.ToLower(s.Log()), "address already in use")
}

// tail returns the last n lines of a text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
