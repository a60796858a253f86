package statement

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// client is one session through the proxy.
type client struct {
	*theatre
	conn *sql.Conn
}

// client logs in as an account with the grants, in which $ is the schema of the theatre and #
// another one.
func (t *theatre) client(name, other string, grants ...string) *client {
	t.Helper()
	for i, g := range grants {
		grants[i] = strings.NewReplacer("$", t.schema, "#", other).Replace(g)
	}
	return t.session(t.server.Account(t.T, name+"_"+strings.ToLower(t.schema[:min(len(t.schema), 8)]), grants...))
}

// session opens one session through the proxy.
func (t *theatre) session(config *mysql.Config) *client {
	t.Helper()
	conn, err := t.open(config).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{t, conn}
}

// run runs statements, all of which must succeed.
func (c *client) run(statements ...string) {
	c.Helper()
	for _, s := range statements {
		if err := c.try(s); err != nil {
			c.Fatalf("%s: %v", s, err)
		}
	}
}

func (c *client) try(statement string) error {
	_, err := c.conn.ExecContext(c.Context(), statement)
	return err
}

// refused runs a statement that must fail with an error of that number.
func (c *client) refused(code uint16, statement string) {
	c.Helper()
	c.want(code, statement, c.try(statement))
}

// held prepares a statement in the binary protocol and returns what executes it.
func (c *client) held(statement string) func() error {
	c.Helper()
	st, err := c.conn.PrepareContext(c.Context(), statement)
	if err != nil {
		c.Fatalf("%s: %v", statement, err)
	}
	c.Cleanup(func() { st.Close() })
	return func() error {
		_, err := st.ExecContext(c.Context())
		return err
	}
}

func (t *theatre) policyIn(schema, table string) *catalog.Policy {
	t.Helper()
	p, err := t.store.Policy(t.Context(), catalog.Table{Schema: schema, Name: table})
	if err != nil {
		return nil
	}
	return &p
}

// The server binds the names of a prepared statement to the schema of then, and so do we, whatever
// the current one is when it runs.
func TestPreparedHereExecutedThere(t *testing.T) {
	onStage(t, func(t *theatre) {
		other := t.server.Database(t)
		c := t.session(t.server.Config(t.schema))
		prepared := func(statement string) func() error { return c.held(statement) }

		named := func(statement string) func() error {
			c.run("PREPARE s FROM '" + strings.ReplaceAll(statement, "'", "''") + "'")
			return func() error { return c.try("EXECUTE s") }
		}
		for kind, prepare := range map[string]func(string) func() error{"binary": prepared, "named": named} {
			for _, there := range []string{"no such table", "a table of that name", "a temporary table of that name"} {
				c.run("USE "+t.schema, "CREATE TABLE t (id INT PRIMARY KEY, created DATETIME)")
				switch there {
				case "a table of that name":
					c.run("CREATE TABLE "+other+".t (id INT PRIMARY KEY, created DATETIME)",
						"ALTER TABLE "+other+".t TTL = created + INTERVAL 1 DAY")
				case "a temporary table of that name":
					c.run("CREATE TEMPORARY TABLE " + other + ".t (id INT PRIMARY KEY, created DATETIME)")
				}

				for _, step := range []struct{ statement, want string }{
					{"ALTER TABLE t TTL = created + INTERVAL 10 HOUR", hourly},
					{"ALTER TABLE t TTL_ENABLE='OFF'", "armed created 10 HOUR off 24h"},
					{"ALTER TABLE t TTL_ENABLE='ON', ADD COLUMN x INT", hourly},
					{"ALTER TABLE t REMOVE TTL", ""},
					{"ALTER TABLE t TTL = created + INTERVAL 10 HOUR, DROP COLUMN x", hourly},
					{"TRUNCATE TABLE t", hourly},
					{"DROP TABLE t", ""},
				} {
					execute := prepare(step.statement)
					c.run("USE " + other)
					if err := execute(); err != nil {
						t.Errorf("%s, %s, %s: %v", kind, there, step.statement, err)
					}

					t.wantPolicy("t", step.want)
					if p := t.policyIn(other, "t"); (p != nil) != (there == "a table of that name") ||
						p != nil && p.Rule.Literal != "1" {
						t.Errorf("%s, %s, %s: the policy of the other table is %+v", kind, there, step.statement, p)
					}

					c.run("USE " + t.schema)
				}

				if there != "no such table" {
					c.run("DROP TABLE " + other + ".t")
				}
			}
		}
	})
}

// Rights are asked of the table that the server will touch: that of the schema in which the
// statement was prepared.
func TestRightsOfWhatWasPrepared(t *testing.T) {
	onStage(t, func(t *theatre) {
		other := t.server.Database(t)
		table := " (id INT PRIMARY KEY, created DATETIME)"
		for _, name := range []string{"w", "y", "z"} {
			t.exec("CREATE TABLE "+name+table, "CREATE TABLE "+other+"."+name+table)
		}

		t.exec("ALTER TABLE z TTL = created + INTERVAL 10 HOUR",
			"ALTER TABLE "+other+".z TTL = created + INTERVAL 10 HOUR")

		alter := t.client("alter", other, "ALTER, SELECT ON $.*", "ALL ON #.*")
		temporary := t.client("temp", other, "CREATE TEMPORARY TABLES ON $.*", "ALL ON #.*")
		reader := t.client("read", other, "SELECT ON $.w", "ALL ON #.*")
		temporary.run("USE "+t.schema, "CREATE TEMPORARY TABLE y"+table)

		for _, attempt := range []struct {
			*client
			code      uint16
			statement string
		}{
			{alter, 1142, "ALTER TABLE w TTL = created + INTERVAL 1 DAY"},
			{alter, 1142, "ALTER TABLE w TTL = created + INTERVAL 1 DAY, ADD COLUMN x INT"},
			{temporary, 8151, "ALTER TABLE y TTL = created + INTERVAL 1 DAY"},
			{reader, 1142, "APPROVE TTL JOB FOR z"},
			{reader, 1142, "ALTER TABLE z REMOVE TTL"},
			{reader, 1142, "EXPLAIN TTL z"},
		} {
			c := attempt.client
			c.run("USE " + t.schema)
			execute := c.held(attempt.statement)
			c.run("PREPARE s FROM '"+attempt.statement+"'", "USE "+other)
			c.want(attempt.code, attempt.statement, execute())
			c.refused(attempt.code, "EXECUTE s")
		}

		t.wantPolicy("w", "")
		t.wantPolicy("y", "")
		t.wantPolicy("z", hourly)
	})
}

// Where the server would read a prepared text again in another way, it is refused; one that reads
// the same in every way runs.
func TestPreparedUnderOtherSettings(t *testing.T) {
	onStage(t, func(t *theatre) {
		c := t.session(t.server.Config(t.schema))
		c.run("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME)",
			"CREATE TABLE `表` (id INT PRIMARY KEY, created DATETIME)",
			"PREPARE plain FROM 'ALTER TABLE t TTL = created + INTERVAL 10 HOUR'",
			"PREPARE wide FROM 'ALTER TABLE `表` TTL = created + INTERVAL 10 HOUR'")
		wide := c.held("ALTER TABLE `表` TTL = created + INTERVAL 10 HOUR")
		c.run("SET NAMES gbk", "SET sql_mode = 'ANSI_QUOTES'", "EXECUTE plain")
		c.refused(1615, "EXECUTE wide")
		c.want(1615, "execute", wide())
		t.wantPolicy("t", hourly)
		t.wantPolicy("表", "")
		c.run("SET NAMES utf8mb4", "SET sql_mode = DEFAULT", "EXECUTE wide")
		t.wantPolicy("表", hourly)
	})
}

// A schema for whose name the client's character set has no letters can be the current one all the
// same.
func TestSchemaThatTheClientCannotSpell(t *testing.T) {
	onStage(t, func(t *theatre) {
		home := t.schema
		t.schema += "数"
		if _, err := t.direct.ExecContext(t.Context(), "CREATE DATABASE "+t.schema); err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { t.direct.ExecContext(context.Background(), "DROP DATABASE "+t.schema) })
		c := t.session(t.server.Config(t.schema))
		c.run("SET NAMES latin1", "CREATE TABLE t (id INT PRIMARY KEY, created DATETIME)",
			"ALTER TABLE t TTL = created + INTERVAL 10 HOUR")
		t.wantPolicy("t", hourly)
		c.run("PREPARE s FROM 'ALTER TABLE t REMOVE TTL'", "USE "+home)
		c.refused(1615, "EXECUTE s")
		t.wantPolicy("t", hourly)
	})
}
