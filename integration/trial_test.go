package integration

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// trial is a server of its own with a proxy in front.
type trial struct {
	*testing.T
	flavour sandbox.Flavour
	server  *mysqltest.Server
	direct  *sql.DB // to the server
	db      *sql.DB // through the proxy
	http    *http.Client
	schema  string
	catalog string
	tables  int
	table   string // the last one
}

// seedRows is how many rows there are to fill tables from.
const seedRows = 32_768

func newTrial(t *testing.T, flavour sandbox.Flavour) *trial {
	t.Helper()
	return newTrialOn(t, mysqltest.Start(t, flavour, "--log-output=TABLE"))
}

// newTrialOn is one on a server that is there, with further options of the proxy.
func newTrialOn(t *testing.T, server *mysqltest.Server, options ...string) *trial {
	t.Helper()
	args := proxyArgs(server)[:2] // with an engine
	status := filepath.Join(t.TempDir(), "status")
	args = append(append(args, "--catalog-schema=ttlproxy", "--status=unix:"+status), options...)
	p := program.Start(t, program.Config{Args: args})

	s := &trial{
		T: t, flavour: server.Flavour, server: server, direct: server.Open(t, ""), schema: server.Database(t),
		catalog: "ttlproxy",
	}
	c := server.Config(s.schema)
	c.Addr = p.Addr
	s.db = mysqltest.Open(t, c)
	s.http = statusClient(status)

	// A trigger tells of each row who has deleted it, and when the statement began: that is the
	// same for all rows of one DELETE.
	execAll(t, s.direct, "CREATE TABLE "+s.schema+
		".gone (name VARCHAR(20), id INT, connection BIGINT, at DATETIME(6), KEY (name, at))",
		"CREATE TABLE "+s.schema+".seed (id INT PRIMARY KEY)", "INSERT INTO "+s.schema+".seed VALUES (1)")
	for have := 1; have < seedRows; have *= 2 {
		execAll(t, s.direct, fmt.Sprintf("INSERT INTO %[1]s.seed SELECT id + %[2]d FROM %[1]s.seed", s.schema, have))
	}

	return s
}

// in runs one trial, and leaves everything as it was.
func (s *trial) in(t *testing.T, run func(*trial)) {
	whole := s.T
	s.T = t
	defer func() { s.T = whole }()

	// How long something takes on a busy machine must not decide what a trial sees.
	s.sql("SET GLOBAL ttl_brake_percent = 100, " + strings.Join(mysqltest.Signals, " = 0, ") + " = 0")
	defer func() {
		var defaults []string
		for _, each := range setting.All() {
			defaults = append(defaults, each.Name+" = DEFAULT")
		}

		s.sql("SET GLOBAL " + strings.Join(defaults, ", "))
		rows := s.column(s.direct, "SELECT table_name FROM information_schema.tables WHERE table_schema = '"+s.schema+
			"' AND table_name LIKE 't%'")
		for _, name := range rows {
			s.sql("DROP TABLE " + name)
		}

		execAll(s.T, s.direct, "SET GLOBAL general_log = OFF",
			"TRUNCATE TABLE mysql.general_log", "TRUNCATE TABLE "+s.schema+".gone")
	}()

	run(s)
}

// sql runs a statement.
func (s *trial) sql(statement string) {
	s.Helper()
	s.again(statement, func() error {
		_, err := s.db.ExecContext(s.Context(), statement)
		return err
	})
}

// again does something, once more if the answer says so: a server that is busy with other tests takes its time.
func (s *trial) again(what string, do func() error) {
	s.Helper()
	for deadline := time.Now().Add(mysqltest.Patience); ; time.Sleep(20 * time.Millisecond) {
		err := do()
		if err == nil {
			return
		}
		if !strings.HasSuffix(err.Error(), "; try again") || time.Now().After(deadline) {
			s.Fatalf("%s: %v", what, err)
		}
	}
}

// refused demands that a statement is answered with an error.
func (s *trial) refused(statement string) {
	s.Helper()
	if _, err := s.db.ExecContext(s.Context(), statement); err == nil {
		s.Errorf("%s was answered with OK", statement)
	}
}

func (s *trial) column(db *sql.DB, query string) (all []string) {
	s.Helper()
	s.again(query, func() error {
		rows, err := db.QueryContext(s.Context(), query)
		if err != nil {
			return err
		}
		defer rows.Close()

		all = nil
		for rows.Next() {
			var one string
			if err := rows.Scan(&one); err != nil {
				return err
			}
			all = append(all, one)
		}
		return rows.Err()
	})
	return all
}

// text is one value from the server.
func (s *trial) text(format string, args ...any) string {
	s.Helper()
	all := s.column(s.direct, fmt.Sprintf(format, args...))
	if len(all) != 1 {
		s.Fatalf("%s: got %v", fmt.Sprintf(format, args...), all)
	}
	return all[0]
}

func (s *trial) number(format string, args ...any) int {
	s.Helper()
	n, err := strconv.Atoi(s.text(format, args...))
	if err != nil {
		s.Fatal(err)
	}
	return n
}

func (s *trial) wait(what string, until func() bool) {
	s.Helper()
	for deadline := time.Now().Add(mysqltest.Patience); !until(); {
		if time.Now().After(deadline) {
			s.Fatalf("%s did not happen: %v, signals %q", what,
				append(s.column(s.db, "SELECT CONCAT_WS(' ', state, reason, plan) FROM ttlproxy.job"),
					s.column(s.direct, "SELECT CONCAT_WS(' ', how, state, state_at, reason) FROM "+s.catalog+".departure")...),
				s.shown("SHOW TTL THROTTLE").rows)
		}
		select {
		case <-s.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// rows makes a table of rows, which are due where a condition says so.
func (s *trial) rows(n int, due, keys string) {
	s.Helper()
	s.tables++
	s.table = fmt.Sprintf("t%d", s.tables)
	name := s.schema + "." + s.table
	execAll(s.T, s.direct,
		"CREATE TABLE "+name+" (id INT NOT NULL, at DATETIME, pad CHAR(20)"+keys+")",
		fmt.Sprintf("INSERT INTO %s SELECT id, IF(%s, '2020-01-01', '2037-01-01'), 'x' FROM %s.seed WHERE id <= %d",
			name, due, s.schema, n),
		fmt.Sprintf("CREATE TRIGGER %s.%s_gone AFTER DELETE ON %[1]s.%[2]s FOR EACH ROW"+
			" INSERT INTO %[1]s.gone VALUES ('%[2]s', OLD.id, CONNECTION_ID(), NOW(6))", s.schema, s.table))
}

const byID = ", PRIMARY KEY (id)"

// declare gives the last table its TTL.
func (s *trial) declare(options string) {
	s.Helper()
	if !strings.Contains(options, "TTL_TIME_ZONE") {
		options += " TTL_TIME_ZONE = 'UTC'"
	}
	s.sql("ALTER TABLE " + s.table + " TTL = at + INTERVAL 1 DAY " + options)
}

// running makes a job that goes on for long, if options or settings make it slow.
func (s *trial) running(options string) {
	s.Helper()
	s.rows(seedRows, "TRUE", byID)
	s.declare(options)
	s.wait("the job to delete", func() bool { return s.gone("") > 0 })
}

// slowly keeps a job at work for a minute.
const slowly = "TTL_DELETE_RATE = 500"

// lasting keeps one at work for longer than a trial waits for anything.
const lasting = "TTL_DELETE_RATE = 50"

// gone counts the rows of the last table that are gone, as far as a condition holds for them.
func (s *trial) gone(where string) int {
	s.Helper()
	return s.number("SELECT COUNT(*) FROM %s.gone WHERE name = '%s' %s", s.schema, s.table, where)
}

// largest is the most rows that one DELETE has deleted.
func (s *trial) largest(where string) int {
	s.Helper()
	return s.number("SELECT COALESCE(MAX(n), 0) FROM "+perDelete, s.schema, s.table, where)
}

// perDelete is a table of the rows that each DELETE has deleted.
const perDelete = "(SELECT COUNT(*) AS n FROM %s.gone WHERE name = '%s' %s GROUP BY connection, at) x"

// after is the condition on rows that are gone by statements that began after something had
// answered.
func (s *trial) after(statement string) string {
	s.Helper()
	s.sql(statement)
	return "AND at > '" + s.text("SELECT NOW(6)") + "'"
}

func (s *trial) verdict() string {
	s.Helper()
	shown := s.shown("SHOW TTL TABLES FOR " + s.table)
	if at := slices.Index(shown.columns, "Verdict"); at >= 0 && len(shown.rows) > 0 {
		return shown.rows[len(shown.rows)-1][at]
	}
	return ""
}

// shown is what a SHOW says.
func (s *trial) shown(show string) (r result) {
	s.Helper()
	conn, err := s.db.Conn(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close()

	s.again(show, func() (err error) {
		r, err = one(s.Context(), conn, show)
		return err
	})
	return r
}
