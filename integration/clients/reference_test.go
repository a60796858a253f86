package clients

import (
	"bytes"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/transcript"
)

var update = flag.Bool("update", false, "write what was printed into the reference page")

const referencePage = "../../docs/reference/sql-admin.md"

// TestReferencePage runs the statements of the reference page and compares what they print with
// what the page shows.
func TestReferencePage(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) { compareReferencePage(t, s) })
}

func compareReferencePage(t *testing.T, s *mysqltest.Server) {
	t.Helper()
	page, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}

	name := s.Database(t)
	config := s.AccountNamed(t, "ann", "ALL ON *.*")
	config.DBName = name
	through := startEngine(t, s, config, name+"_catalog")
	config.Addr = net.JoinHostPort(through.host, through.port)
	db := mysqltest.Open(t, config)
	db.SetMaxOpenConns(1) // one session, so that SHOW WARNINGS is about the statement before it
	got := statementBlocks.ReplaceAllFunc(page, func(block []byte) []byte {
		var b strings.Builder
		b.WriteString("```sql\n")

		for line := range strings.SplitSeq(string(block), "\n") {
			if statement, ok := asStatement(line); ok {
				b.WriteString(line + "\n" + answer(t, db, name, statement))
				if strings.HasPrefix(statement, "CREATE TABLE") {
					awaitFirstJob(t, db)
				}
			}
		}

		return []byte(b.String() + "```")
	})

	if *update && s.MariaDB() { // the other one is compared with it
		if err := os.WriteFile(referencePage, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}

	if !bytes.Equal(page, got) {
		t.Errorf("the page (-) and what the statements print (+):\n%s",
			cmp.Diff(strings.Split(string(page), "\n"), strings.Split(string(got), "\n")))
	}
}

var statementBlocks = regexp.MustCompile("(?s)```sql\n.*?\n```")

// awaitFirstJob waits for the job of a table that is still empty, so that every later one is asked
// for.
func awaitFirstJob(t *testing.T, db *sql.DB) {
	t.Helper()
	for range 300 {
		var ended int
		if err := db.QueryRowContext(t.Context(),
			"SELECT COUNT(finish_time) FROM mysql.tidb_ttl_job_history").Scan(&ended); err != nil {
			t.Fatal(err)
		}
		if ended > 0 {
			return
		}

		select {
		case <-t.Context().Done():
		case <-time.After(100 * time.Millisecond):
		}
	}

	t.Fatal("the first job has not ended")
}

// asStatement is a line of a block that is a statement: they end in ; or \G, what they print in
// neither.
func asStatement(line string) (string, bool) {
	return line, !strings.HasPrefix(line, "--") && (strings.HasSuffix(line, ";") || strings.HasSuffix(line, `\G`))
}

// answer is what a statement prints, each line as a comment.
func answer(t *testing.T, db *sql.DB, schema, statement string) string {
	t.Helper()
	query, vertical := strings.CutSuffix(statement, `\G`)
	names, rows, err := ask(t, db, schema, strings.TrimSuffix(query, ";"))
	var text string

	switch {
	case err != nil:
		text = strings.ReplaceAll(err.Error(), schema, "shop")
	case len(names) == 0:
		return ""
	default:
		text = transcript.Print(names, rows, vertical)
	}

	return "-- " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n-- ") + "\n"
}

func ask(t *testing.T, db *sql.DB, schema, query string) (names []string, rows [][]string, err error) {
	t.Helper()
	r, err := db.QueryContext(t.Context(), query)
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return nil, nil, fmt.Errorf("ERROR %d (%s): %s", e.Number, e.SQLState, e.Message)
	}
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer r.Close()

	if names, err = r.Columns(); err != nil {
		t.Fatal(err)
	}

	for r.Next() {
		values, into := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}

		if err := r.Scan(into...); err != nil {
			t.Fatal(err)
		}

		row := make([]string, len(names))
		for i, v := range values {
			if row[i] = "NULL"; v.Valid {
				row[i] = steady(names[i], strings.ReplaceAll(v.String, schema, "shop"))
			}
		}

		rows = append(rows, row)
	}

	if r.Err() != nil {
		t.Fatal(r.Err())
	}

	return names, rows, nil
}

// What differs from run to run, and what stands there instead.
var (
	differing = map[string]string{
		"Rows_per_second": "5210.4", "Outflow_per_second": "5210.4", "Seconds": "0.3", "Generation": "7",
		"Rows_examined": "4",
	}
	moments = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
	servers = regexp.MustCompile(`[\w+/=-]{20,}@[\w.-]+:\d+`)
	version = regexp.MustCompile(`^\d+\.\d+\.\d+(-\S+)?$`)
	ages    = regexp.MustCompile(`\+00:00, [\dhms]+ ago`)
)

func steady(column, value string) string {
	if fixed, ok := differing[column]; ok {
		return fixed
	}
	value = moments.ReplaceAllStringFunc(value, steadyMoment)
	value = version.ReplaceAllString(value, "10.11.8-MariaDB")
	return ages.ReplaceAllString(servers.ReplaceAllString(value, "5f3c…@db1:3306"), "+00:00, 2s ago")
}

// steadyMoment moves what lies near to now to the same distance from one noon, in whole hours.
func steadyMoment(s string) string {
	at, err := time.Parse(time.DateTime, s)
	if distance := time.Until(at).Round(time.Hour); err == nil && distance.Abs() < 30*24*time.Hour {
		return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(distance).Format(time.DateTime)
	}
	return s
}
