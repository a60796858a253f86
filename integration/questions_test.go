package integration

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// MariaDB may open every table of the server to answer a question about one, which takes seconds
// where there are thousands of them. Its slow log tells for each statement that was run. One
// question of the test's own does so, to show that the log tells.
func TestQuestionsOpenOneTable(t *testing.T) {
	t.Parallel()
	const meant = "SELECT COUNT(*) FROM information_schema.TABLES WHERE CREATE_TIME IS NULL"
	s := mysqltest.Start(t, sandbox.MariaDB, "--slow-query-log", "--long-query-time=0", "--log-slow-verbosity=explain")
	p := program.Start(t, program.Config{Args: append(proxyArgs(s), "--engine=on")})
	config := s.Config(s.Database(t))
	config.Addr = p.Addr

	for _, statement := range []string{
		"CREATE TABLE parent (id INT PRIMARY KEY)",
		"CREATE TABLE t (id INT PRIMARY KEY, made DATETIME, pad TEXT) TTL = made + INTERVAL 1 DAY TTL_ENABLE = 'OFF'",
		"CREATE TABLE parts (id INT PRIMARY KEY, made DATETIME) PARTITION BY RANGE (id) (PARTITION p VALUES LESS " +
			"THAN (10), PARTITION q VALUES LESS THAN MAXVALUE)",
		"INSERT INTO t SELECT seq, IF(seq % 2, '2020-01-01', NOW()), 'x' FROM seq_1_to_1000",
		"INSERT INTO parts SELECT seq, '2020-01-01' FROM seq_1_to_1000",
		"ALTER TABLE parts TTL = made + INTERVAL 1 DAY TTL_ENABLE = 'OFF'",
		"ALTER TABLE t TTL_ENABLE = 'ON'", "ALTER TABLE parts TTL_ENABLE = 'ON'",
		"APPROVE TTL JOB FOR t", "APPROVE TTL JOB FOR parts", "RUN TTL JOB FOR t WAIT", "RUN TTL JOB FOR parts WAIT",
		"EXPLAIN TTL t", "SHOW CREATE TABLE t", "SHOW TTL TABLES", "SHOW TTL JOBS", "SHOW TTL ERRORS",
		"SHOW TTL STATUS", "SHOW TTL JOBS FOR t",
		"ALTER TABLE t ADD COLUMN more INT", "ALTER TABLE parent ADD COLUMN more INT", "CREATE TABLE copy LIKE t",
		"RENAME TABLE t TO u", "TRUNCATE TABLE u", "ALTER TABLE u REMOVE TTL", "DROP TABLE copy, u, parts",
	} {
		if err := execute(t.Context(), config, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}

	if err := execute(t.Context(), s.Config(""), meant); err != nil {
		t.Fatal(err)
	}

	var log string
	if err := s.DB(t).QueryRowContext(t.Context(),
		"SELECT CONCAT(@@datadir, @@slow_query_log_file)").Scan(&log); err != nil {
		t.Fatal(err)
	}

	var statements int
	var opened []string
	means := func(text string) bool { return strings.Contains(text, meant) }
	waitUntil(t, "the log, which is written after the answer, to tell of "+meant+" that it opens every table",
		func() bool {
			statements, opened = logged(t, log)
			return slices.ContainsFunc(opened, means)
		})
	if statements < 100 {
		t.Errorf("the slow log has %d statements", statements)
	}

	for _, text := range opened {
		if !means(text) {
			t.Errorf("opens every table:\n%s", text)
		}
	}
}

// logged reads a slow log: how many statements there are in it, and those that opened every table
// of a database or of all.
func logged(t *testing.T, path string) (statements int, opened []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	var text strings.Builder
	all := false
	end := func() {
		if all {
			opened = append(opened, text.String())
		}
		text.Reset()
		all = false
	}

	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)

	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "# User@Host:"):
			end()
			statements++
		case strings.HasPrefix(line, "# explain:"):
			all = all || strings.Contains(line, "Open_full_table") && !strings.Contains(line, "Scanned 0 databases")
		case !strings.HasPrefix(line, "#"):
			text.WriteString(line + "\n")
		}
	}

	end()
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}

	return statements, opened
}
