package proxy

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// theatre is a proxy in front of a real server, with a catalog and a schema of its own.
type theatre struct {
	*testing.T
	server *mysqltest.Server
	store  *catalog.Store
	schema string
	direct *sql.DB // root, not through the proxy
	db     *sql.DB // root, through the proxy
	addr   string
}

// onStage runs a test with a proxy in front of each server.
func onStage(t *testing.T, test func(t *theatre)) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		t.Parallel()
		test(newTheatre(t, s))
	})
}

func newTheatre(t *testing.T, s *mysqltest.Server) *theatre {
	schema := s.Database(t)
	connector, err := catalog.Connector(s.Config(""))
	if err != nil {
		t.Fatal(err)
	}
	service := sql.OpenDB(connector)
	t.Cleanup(func() { service.Close() })
	store, err := catalog.Open(t.Context(), service, catalog.Config{Schema: schema + "_cat"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.Exec("DROP DATABASE " + schema + "_cat") }) //nolint:errcheck // the server goes, too
	log := &logWriter{t: t}
	h := &statements{Statements: Statements{Store: store, DB: service}, log: slog.New(slog.NewTextHandler(log, nil))}
	addr, _ := proxyWith(t, s.Addr(), Config{}, h)
	th := &theatre{T: t, server: s, store: store, schema: schema, addr: addr, direct: s.Open(t, schema)}
	th.db = th.open(s.Config(schema))
	return th
}

// open connects through the proxy.
func (t *theatre) open(c *mysql.Config) *sql.DB {
	t.Helper()
	c = c.Clone()
	c.Net, c.Addr, c.MultiStatements = "tcp", t.addr, true
	return mysqltest.Open(t.T, c)
}

// exec runs statements through the proxy.
func (t *theatre) exec(statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := t.db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// fails runs a statement that must be refused with an error of that number.
func (t *theatre) fails(code uint16, statement string) {
	t.Helper()
	_, err := t.db.ExecContext(t.Context(), statement)
	t.want(code, statement, err)
}

func (t *theatre) want(code uint16, statement string, err error) {
	t.Helper()
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) || refused.Number != code {
		t.Errorf("%s: got %v, want error %d", statement, err, code)
	}
}

// policy says what the catalog holds for a table, in one line; empty for nothing.
func (t *theatre) policy(table string) string {
	t.Helper()
	p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: table})
	if errors.Is(err, catalog.ErrNoPolicy) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	enabled := ""
	if !p.Rule.Enabled {
		enabled = " off"
	}
	return fmt.Sprintf("%s %s %s %s%s %s", p.State, p.Rule.Column, p.Rule.Literal, p.Rule.Unit, enabled, p.Rule.JobInterval)
}

func (t *theatre) wantPolicy(table, want string) {
	t.Helper()
	if got := t.policy(table); got != want {
		t.Errorf("policy of %s: got %q, want %q", table, got, want)
	}
}

// created is SHOW CREATE TABLE through the proxy.
func (t *theatre) created(table string) string {
	t.Helper()
	var name, text string
	if err := t.db.QueryRowContext(t.Context(), "SHOW CREATE TABLE "+table).Scan(&name, &text); err != nil {
		t.Fatal(err)
	}
	return text
}

const hourly = "armed created 10 HOUR 24h"

func TestCreateAndAlter(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id BIGINT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
		t.wantPolicy("t", hourly)
		want := " /*T![ttl] TTL=`created` + INTERVAL 10 HOUR */ /*T![ttl] TTL_ENABLE='ON' */ /*T![ttl] TTL_JOB_INTERVAL='24h' */"
		if got := t.created("t"); !strings.HasSuffix(got, want) {
			t.Errorf("got %s, want it to end in %s", got, want)
		}
		t.exec("ALTER TABLE t TTL_JOB_INTERVAL='1h' TTL_ENABLE='OFF'")
		t.wantPolicy("t", "armed created 10 HOUR off 1h")
		t.exec("ALTER TABLE t ADD COLUMN seen TIMESTAMP NULL, TTL=seen + INTERVAL 3 MONTH, COMMENT='x'")
		t.wantPolicy("t", "armed seen 3 MONTH off 1h")
		t.exec("ALTER TABLE t RENAME COLUMN seen TO looked")
		t.wantPolicy("t", "armed looked 3 MONTH off 1h")
		t.fails(8149, "ALTER TABLE t DROP COLUMN looked")
		t.fails(8148, "ALTER TABLE t CHANGE looked other INT")
		t.exec("ALTER TABLE t REMOVE TTL", "ALTER TABLE t REMOVE TTL")
		t.wantPolicy("t", "")
		t.fails(8150, "ALTER TABLE t TTL_ENABLE='ON'")
		t.fails(1054, "ALTER TABLE t TTL=nowhere + INTERVAL 1 DAY")
		t.fails(8148, "ALTER TABLE t TTL=id + INTERVAL 1 DAY")
		t.fails(1064, "ALTER TABLE t TTL=created - INTERVAL 1 DAY")
		t.fails(1146, "ALTER TABLE missing TTL=created + INTERVAL 1 DAY")
		t.exec("CREATE VIEW v AS SELECT 1 AS a")
		t.fails(1347, "ALTER TABLE v TTL=a + INTERVAL 1 DAY")
	})
}

func TestFollow(t *testing.T) {
	onStage(t, func(t *theatre) {
		const columns = " (id BIGINT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR"
		t.exec("CREATE TABLE a"+columns, "RENAME TABLE a TO b")
		t.wantPolicy("a", "")
		t.wantPolicy("b", hourly)
		t.exec("TRUNCATE TABLE b", "OPTIMIZE TABLE b", "CREATE INDEX i ON b (created)", "DROP INDEX i ON b")
		t.wantPolicy("b", hourly)
		t.exec("CREATE TABLE c LIKE b")
		t.wantPolicy("c", hourly)
		t.exec("RENAME TABLE b TO d")
		t.wantPolicy("b", "")
		t.wantPolicy("c", hourly)
		t.wantPolicy("d", hourly)
		t.exec("DROP TABLE IF EXISTS c, d, nowhere")
		t.wantPolicy("c", "")
		t.wantPolicy("d", "")
	})
}

func TestTemporaryTables(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
		t.fails(8151, "CREATE TEMPORARY TABLE x (id INT, created DATETIME) TTL = created + INTERVAL 10 HOUR")
		t.fails(8151, "CREATE TEMPORARY TABLE x LIKE t")
		t.exec("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, other DATETIME)")
		t.fails(8151, "ALTER TABLE t TTL = other + INTERVAL 1 HOUR")
		if got := t.created("t"); strings.Contains(got, "TTL") {
			t.Errorf("the temporary table is shown with a TTL: %s", got)
		}
		t.exec("ALTER TABLE t DROP COLUMN other", "DROP TABLE t")
		t.wantPolicy("t", hourly)
		t.exec("DROP TABLE t")
		t.wantPolicy("t", "")
	})
}

func TestForeignKeys(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE parent (id INT PRIMARY KEY, created DATETIME)",
			"CREATE TABLE child (id INT PRIMARY KEY, p INT, created DATETIME, FOREIGN KEY (p) REFERENCES parent (id)) TTL = created + INTERVAL 10 HOUR")
		t.wantPolicy("child", hourly)
		t.fails(8152, "ALTER TABLE parent TTL = created + INTERVAL 1 DAY")
		t.exec("CREATE TABLE expires (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR",
			"CREATE TABLE other (id INT PRIMARY KEY, p INT)")
		t.fails(8152, "CREATE TABLE x (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES expires (id))")
		t.fails(8152, "ALTER TABLE other ADD FOREIGN KEY (p) REFERENCES expires (id)")
		t.fails(8152, "CREATE TABLE x (id INT PRIMARY KEY, p INT, created DATETIME, FOREIGN KEY (p) REFERENCES x (id)) TTL = created + INTERVAL 1 DAY")
		t.fails(8153, "CREATE TABLE x (id DOUBLE PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY")
	})
}

func TestPreparedAndMulti(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		create, err := t.db.PrepareContext(t.Context(), "CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := create.ExecContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.wantPolicy("t", hourly)
			t.exec("DROP TABLE t")
		}
		if err := create.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = t.db.PrepareContext(t.Context(), "ALTER TABLE t TTL = created")
		t.want(1064, "prepare", err)

		t.exec(`PREPARE s FROM "CREATE TABLE n (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR"`, "EXECUTE s")
		t.wantPolicy("n", hourly)
		t.exec("DROP TABLE n; CREATE TABLE m (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR; SELECT 1; ALTER TABLE m TTL_ENABLE='OFF'; INSERT INTO m VALUES (1, NULL)")
		t.wantPolicy("n", "")
		t.wantPolicy("m", "armed created 10 HOUR off 24h")
		t.fails(8148, "ALTER TABLE m COMMENT='x'; ALTER TABLE m TTL=id + INTERVAL 1 DAY; DROP TABLE m")
		t.wantPolicy("m", "armed created 10 HOUR off 24h")
	})
}
