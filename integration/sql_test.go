package integration

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// flags are those of sql, direct and await.
type flags struct {
	user, db string
	vertical bool
	encrypt  bool
	direct   bool
	at, from string
	rest     []string
}

func parse(ts *testscript.TestScript, args []string) (flags, error) {
	var f flags
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&f.user, "as", ts.Getenv("APP"), "")
	set.StringVar(&f.db, "db", ts.Getenv("DB"), "")
	set.BoolVar(&f.direct, "direct", false, "")
	set.BoolVar(&f.encrypt, "tls", false, "")
	set.StringVar(&f.at, "at", ts.Getenv("PROXY"), "")
	set.StringVar(&f.from, "from", "", "")
	set.BoolVar(&f.vertical, "v", false, "")

	if err := set.Parse(args); err != nil {
		return f, err
	}

	for _, statement := range set.Args() {
		if strings.HasSuffix(statement, ".sql") {
			for part := range strings.SplitSeq(ts.ReadFile(statement), ";\n") {
				if part = strings.TrimSpace(part); part != "" {
					f.rest = append(f.rest, part)
				}
			}
			continue
		}
		f.rest = append(f.rest, statement)
	}

	return f, nil
}

// sqlCommand is the command `sql`: statements of the application, through the proxy. One that is not to fail is sent
// once more if the answer says so: a server that is busy with other tests takes its time.
func sqlCommand(ts *testscript.TestScript, neg bool, args []string) {
	send := again
	if neg {
		send = one
	}
	run(func(s *story, ts *testscript.TestScript, args []string) error {
		f, err := parse(ts, args)
		if err != nil {
			return err
		}
		return s.print(ts, s.client(f), f, send)
	})(ts, neg, args)
}

// again is one, until the answer is another than that the server is busy.
func again(ctx context.Context, conn *sql.Conn, statement string) (result, error) {
	return mysqltest.Again(mysqltest.Busy, func() (result, error) { return one(ctx, conn, statement) })
}

// client is how an account connects to the proxy; root is the server's administrator.
func (s *story) client(f flags) *mysql.Config {
	c := s.server.Config(f.db)
	if f.user != "root" {
		c.User, c.Passwd = f.user, f.user
	}

	c.Net, c.Addr = "tcp", f.at
	if path, ok := strings.CutPrefix(f.at, "unix:"); ok {
		c.Net, c.Addr = "unix", path
	}
	if f.encrypt {
		c.TLS = &tls.Config{InsecureSkipVerify: true}
	}

	if f.from != "" {
		c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, network, address)
			if err == nil {
				_, err = fmt.Fprintf(conn, "PROXY TCP4 %s 127.0.0.1 40000 3306\r\n", f.from)
			}
			return conn, err
		}
	}

	return c
}

// direct is the command `direct`: statements of an administrator, on the server itself.
func (s *story) direct(ts *testscript.TestScript, args []string) error {
	f, err := parse(ts, args)
	if err != nil {
		return err
	}
	return s.print(ts, s.server.Config(f.db), f, one)
}

func (s *story) print(ts *testscript.TestScript, c *mysql.Config, f flags, send sender) error {
	results, err := queryBy(context.Background(), send, c, f.rest)
	for _, r := range results {
		r.print(ts.Stdout(), f.vertical)
	}
	return err
}

// await is the command `await`: queries through the proxy, or with -direct on the server itself,
// until what they print matches.
func (s *story) await(ts *testscript.TestScript, args []string) error {
	f, err := parse(ts, args)
	if err != nil {
		return err
	}
	if len(f.rest) < 2 {
		return errors.New("await needs a query and a pattern")
	}

	queries, last := f.rest[:len(f.rest)-1], f.rest[len(f.rest)-1]
	pattern, err := regexp.Compile("(?m)" + last)
	if err != nil {
		return err
	}

	c := s.client(f)
	if f.direct {
		c = s.server.Config(f.db)
	}

	for deadline := time.Now().Add(mysqltest.Patience); ; {
		var b strings.Builder
		results, err := query(context.Background(), c, queries)
		for _, r := range results {
			r.print(&b, f.vertical)
		}

		if err == nil && pattern.MatchString(b.String()) {
			fmt.Fprint(ts.Stdout(), b.String())
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v the query still prints (%v):\n%s", mysqltest.Patience, err, b.String())
		}

		<-time.After(100 * time.Millisecond)
	}
}

// result is what a statement returned.
type result struct {
	columns []string
	rows    [][]string
}

func (r result) print(w io.Writer, vertical bool) {
	for _, row := range r.rows {
		if !vertical {
			fmt.Fprintln(w, strings.Join(row, "\t"))
			continue
		}
		for i, value := range row {
			fmt.Fprintf(w, "%s: %s\n", r.columns[i], value)
		}
	}
}

// query runs statements one after the other in one session and returns the rows of those that have
// any.
func query(ctx context.Context, c *mysql.Config, statements []string) ([]result, error) {
	return queryBy(ctx, one, c, statements)
}

// sender sends one statement: one, or again.
type sender func(ctx context.Context, conn *sql.Conn, statement string) (result, error)

func queryBy(ctx context.Context, send sender, c *mysql.Config, statements []string) ([]result, error) {
	ctx, cancel := context.WithTimeout(ctx, mysqltest.Patience)
	defer cancel()

	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}

	db := sql.OpenDB(connector)
	defer db.Close()

	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()

	var results []result
	for _, statement := range statements {
		r, err := send(ctx, conn, statement)
		if err != nil {
			return results, fmt.Errorf("%s: %w", statement, err)
		}
		results = append(results, r)
	}

	return results, nil
}

func one(ctx context.Context, conn *sql.Conn, statement string) (r result, err error) {
	rows, err := conn.QueryContext(ctx, statement)
	if err != nil {
		return r, err
	}
	defer rows.Close()

	if r.columns, err = rows.Columns(); err != nil {
		return r, err
	}

	for rows.Next() {
		values := make([]sql.NullString, len(r.columns))
		into := make([]any, len(values))
		for i := range values {
			into[i] = &values[i]
		}

		if err := rows.Scan(into...); err != nil {
			return r, err
		}

		row := make([]string, len(values))
		for i, v := range values {
			row[i] = v.String
			if !v.Valid {
				row[i] = "NULL"
			}
		}

		r.rows = append(r.rows, row)
	}

	return r, rows.Err()
}
