package proxy

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
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
	after  atomic.Pointer[func(step) error] // what becomes of a statement behind a step
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
	t.Cleanup(func() { service.Exec("DROP DATABASE " + schema + "_cat") })
	th := &theatre{T: t, server: s, store: store, schema: schema, direct: s.Open(t, schema)}
	h := &statements{
		Statements: Statements{Catalog: func() *catalog.Store { return store }, DB: service},
		log:        slog.New(slog.NewTextHandler(&logWriter{t: t}, nil)),
		after: func(s step) error {
			if f := th.after.Load(); f != nil {
				return (*f)(s)
			}
			return nil
		},
	}
	th.addr, _ = proxyWith(t, s.Addr(), Config{}, h)
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
		defer create.Close()
		for range 2 {
			if _, err := create.ExecContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.wantPolicy("t", hourly)
			t.exec("DROP TABLE t")
		}
		wrong, err := t.db.PrepareContext(t.Context(), "ALTER TABLE t TTL = created")
		t.want(1064, "prepare", err)
		if err == nil {
			defer wrong.Close()
		}

		t.exec(`PREPARE s FROM "CREATE TABLE n (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR"`, "EXECUTE s")
		t.wantPolicy("n", hourly)
		t.exec("DROP TABLE n; CREATE TABLE m (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR; SELECT 1; ALTER TABLE m TTL_ENABLE='OFF'; INSERT INTO m VALUES (1, NULL)")
		t.wantPolicy("n", "")
		t.wantPolicy("m", "armed created 10 HOUR off 24h")
		t.fails(8148, "ALTER TABLE m COMMENT='x'; ALTER TABLE m TTL=id + INTERVAL 1 DAY; DROP TABLE m")
		t.wantPolicy("m", "armed created 10 HOUR off 24h")
	})
}

func TestPartsChangeTheSession(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		other := t.server.Database(t)
		t.exec("USE " + other + "; CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR; USE " + t.schema)
		p, err := t.store.Policy(t.Context(), catalog.Table{Schema: other, Name: "t"})
		if err != nil || p.Rule.Column != "created" {
			t.Errorf("got %v, %v, want a policy in the schema of USE", p, err)
		}
		t.exec(`SET sql_mode='ANSI_QUOTES'; CREATE TABLE "q" (id INT PRIMARY KEY, "created" DATETIME) TTL = "created" + INTERVAL 10 HOUR; SET sql_mode=DEFAULT`)
		t.wantPolicy("q", hourly)
	})
}

// TestOnlineSchemaChange sends the statements of gh-ost and pt-online-schema-change.
func TestOnlineSchemaChange(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR TTL_JOB_INTERVAL='2h'")
		before, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: "t"})
		if err != nil {
			t.Fatal(err)
		}

		// gh-ost: the ghost comes from LIKE, the cut-over is a RENAME that waits behind LOCK TABLES of another session.
		s := t.schema
		t.exec("CREATE /* gh-ost */ TABLE `"+s+"`.`_t_gho` LIKE `"+s+"`.`t`",
			"ALTER /* gh-ost */ TABLE `"+s+"`.`_t_gho` ADD COLUMN extra INT",
			"CREATE /* gh-ost */ TABLE `"+s+"`.`_t_del` (id INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB COMMENT='ghost-cut-over-sentry'")
		t.wantPolicy("_t_gho", "dormant created 10 HOUR 2h")
		locker, err := t.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer locker.Close()
		on := func(statement string) {
			t.Helper()
			if _, err := locker.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		on("LOCK /* gh-ost */ TABLES `" + s + "`.`t` WRITE, `" + s + "`.`_t_del` WRITE")
		renamed := make(chan error, 1)
		go func() {
			_, err := t.db.ExecContext(t.Context(), "RENAME /* gh-ost */ TABLE `"+s+"`.`t` TO `"+s+"`.`_t_del`, `"+s+"`.`_t_gho` TO `"+s+"`.`t`")
			renamed <- err
		}()
		t.awaitState("t", catalog.PolicyStopped)
		on("DROP /* gh-ost */ TABLE IF EXISTS `" + s + "`.`_t_del`")
		on("UNLOCK TABLES")
		if err := <-renamed; err != nil {
			t.Fatal(err)
		}
		after, err := t.store.Policy(t.Context(), catalog.Table{Schema: s, Name: "t"})
		if err != nil || after.ID != before.ID {
			t.Errorf("got policy %d, %v, want the name to keep policy %d", after.ID, err, before.ID)
		}
		t.wantPolicy("t", "armed created 10 HOUR 2h")
		t.wantPolicy("_t_del", "dormant created 10 HOUR 2h")
		t.exec("DROP /* gh-ost */ TABLE IF EXISTS `" + s + "`.`_t_del`")
		t.wantPolicy("_t_del", "")

		// pt-online-schema-change: the copy comes from the text of SHOW CREATE TABLE.
		text := strings.Replace(t.created("`"+s+"`.`t`"), "CREATE TABLE `t`", "CREATE TABLE `"+s+"`.`_t_new`", 1)
		t.exec(text, "ALTER TABLE `"+s+"`.`_t_new` DROP COLUMN extra")
		t.wantPolicy("_t_new", "dormant created 10 HOUR 2h")
		t.exec("RENAME TABLE `" + s + "`.`t` TO `" + s + "`.`_t_old`, `" + s + "`.`_t_new` TO `" + s + "`.`t`")
		t.wantPolicy("t", "armed created 10 HOUR 2h")
		t.exec("DROP TABLE IF EXISTS `" + s + "`.`_t_old`")
		t.wantPolicy("_t_old", "")
	})
}

// awaitState waits until the policy of a table is in the state.
func (t *theatre) awaitState(table string, want catalog.PolicyState) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: table})
		if err == nil && p.State == want {
			return
		}
		<-tick.C
	}
	t.Fatalf("policy of %s never became %s", table, want)
}

func TestRights(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME, other DATETIME) TTL = created + INTERVAL 10 HOUR",
			"CREATE TABLE plain (id INT PRIMARY KEY, created DATETIME)")
		as := func(name string, grants ...string) *sql.DB {
			for n := range grants {
				grants[n] = strings.ReplaceAll(grants[n], "$", t.schema)
			}
			c := t.server.Account(t.T, name, grants...)
			c.DBName = t.schema
			db := t.open(c)
			db.SetMaxOpenConns(1)
			return db
		}
		refused := func(db *sql.DB, code uint16, statement string) {
			t.Helper()
			_, err := db.ExecContext(t.Context(), statement)
			t.want(code, statement, err)
		}
		const declare = "ALTER TABLE plain TTL = created + INTERVAL 1 DAY"

		noAlter := as("noalter", "SELECT, DELETE ON $.*")
		refused(noAlter, 1142, declare)
		refused(noAlter, 1142, "ALTER TABLE t REMOVE TTL")
		refused(noAlter, 1142, "ALTER TABLE t ADD COLUMN x INT")
		refused(noAlter, 1142, "DROP TABLE t")
		refused(noAlter, 1142, "CREATE TABLE x (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY")

		noDelete := as("nodelete", "SELECT, ALTER, CREATE, INSERT ON $.*")
		refused(noDelete, 1142, declare)
		refused(noDelete, 1142, "CREATE TABLE x (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY")
		if _, err := noDelete.ExecContext(t.Context(), "CREATE TABLE copied LIKE t"); err != nil {
			t.Errorf("LIKE without the right to delete: %v", err)
		}
		t.wantPolicy("copied", "")

		noSelect := as("noselect", "DELETE, ALTER ON $.plain", "SELECT (id) ON $.plain")
		refused(noSelect, 1143, declare)
		t.wantPolicy("plain", "")

		onlyTemporary := as("onlytemporary", "CREATE TEMPORARY TABLES ON $.*")
		if _, err := onlyTemporary.ExecContext(t.Context(), "CREATE TEMPORARY TABLE plain (id INT PRIMARY KEY, created DATETIME)"); err != nil {
			t.Fatal(err)
		}
		refused(onlyTemporary, 8151, declare)
		refused(onlyTemporary, 8151, "ALTER TABLE plain TTL = created + INTERVAL 1 DAY, ADD COLUMN x INT")
		t.wantPolicy("plain", "")

		byColumn := as("bycolumn", "DELETE, ALTER ON $.plain", "SELECT (id, created) ON $.plain")
		if _, err := byColumn.ExecContext(t.Context(), declare); err != nil {
			t.Errorf("with the right on the column: %v", err)
		}
		t.wantPolicy("plain", "armed created 1 DAY 24h")
		t.wantPolicy("t", "armed created 10 HOUR 24h")
	})
}

func TestTransactionEndsAsWithAnyDDL(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME)", "BEGIN", "INSERT INTO t VALUES (1, NULL)",
			"ALTER TABLE t TTL = created + INTERVAL 10 HOUR", "ROLLBACK")
		var n int
		if err := t.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t").Scan(&n); err != nil || n != 1 {
			t.Errorf("got %d rows, %v, want the ALTER to have committed one", n, err)
		}
		t.exec("BEGIN", "UPDATE t SET created = NOW()", "DROP TABLE t", "ROLLBACK")
		t.wantPolicy("t", "")
	})
}

func TestCharacterSets(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		for charset, name := range map[string]string{"gbk": "縗", "sjis": "表", "big5": "功", "latin1": "é"} {
			t.exec("SET NAMES "+charset, ddl.Encode("CREATE TABLE `"+name+"` (id INT PRIMARY KEY, `"+name+"` DATETIME COMMENT '"+name+
				"') COMMENT='"+name+"' TTL = `"+name+"` + INTERVAL 10 HOUR", charset))
			t.wantPolicy(name, "armed "+name+" 10 HOUR 24h")
			if got := ddl.Decode(t.created(ddl.Encode("`"+name+"`", charset)), charset); !strings.Contains(got, "TTL=`"+name+"`") {
				t.Errorf("%s: got %s", charset, got)
			}
			t.exec(ddl.Encode("ALTER TABLE `"+name+"` RENAME COLUMN `"+name+"` TO c, COMMENT='"+name+"'", charset))
			t.wantPolicy(name, "armed c 10 HOUR 24h")
			t.exec(ddl.Encode("RENAME TABLE `"+name+"` TO plain", charset))
			t.wantPolicy("plain", "armed c 10 HOUR 24h")
			t.exec("DROP TABLE plain")
			t.wantPolicy("plain", "")
		}
	})
}

func TestWhatElseFollows(t *testing.T) {
	onStage(t, func(t *theatre) {
		const columns = " (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR"
		other := t.server.Database(t)
		in := func(table string) string {
			_, err := t.store.Policy(t.Context(), catalog.Table{Schema: other, Name: table})
			return fmt.Sprint(err)
		}

		t.exec("CREATE TABLE t"+columns, "RENAME TABLE t TO "+other+".u")
		if got := in("u"); got != "<nil>" {
			t.Errorf("after a RENAME across schemas: %s", got)
		}
		t.exec("ALTER TABLE "+other+".u RENAME "+t.schema+".t", "CREATE TABLE "+other+".x"+columns, "DROP DATABASE "+other)
		t.wantPolicy("t", hourly)
		if got := in("x"); got != catalog.ErrNoPolicy.Error() {
			t.Errorf("after DROP DATABASE: %s", got)
		}

		// What a statement has done before it failed counts.
		t.exec("CREATE TABLE a"+columns, "CREATE TABLE b"+columns)
		t.fails(1051, "DROP TABLE a, nowhere, b")
		var left int
		if err := t.direct.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME IN ('a', 'b')", t.schema).Scan(&left); err != nil {
			t.Fatal(err)
		}
		policies := 0
		for _, name := range []string{"a", "b"} {
			if t.policy(name) != "" {
				policies++
			}
		}
		if policies != left {
			t.Errorf("%d tables are left, and %d policies", left, policies)
		}
		t.exec("DROP TABLE IF EXISTS a, b")

		// A partition trades places with a table: the policies stay with the names.
		t.exec("CREATE TABLE p (id INT, created DATETIME) TTL = created + INTERVAL 10 HOUR PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)",
			"CREATE TABLE plain (id INT, created DATETIME) TTL = created + INTERVAL 1 DAY",
			"ALTER TABLE p EXCHANGE PARTITION p0 WITH TABLE plain", "ALTER TABLE p TRUNCATE PARTITION p0", "ALTER TABLE p DROP PARTITION p1")
		t.wantPolicy("p", hourly)
		t.wantPolicy("plain", "armed created 1 DAY 24h")

		t.exec("CREATE TABLE s (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR SELECT 1 AS id, NOW() AS created")
		t.wantPolicy("s", hourly)
		t.fails(8200, "CREATE TABLE s2 TTL = created + INTERVAL 10 HOUR SELECT NOW() AS created")
		t.fails(8153, "ALTER TABLE s DROP PRIMARY KEY, ADD COLUMN f FLOAT NOT NULL, ADD PRIMARY KEY (f)")
		t.fails(8148, "ALTER TABLE s MODIFY created INT")
		t.exec("ALTER TABLE s MODIFY created TIMESTAMP NULL")
		t.wantPolicy("s", hourly)
	})
}

// TestSeveralCreators lets many sessions create the same table at once, as the instances of an application do when they start.
func TestSeveralCreators(t *testing.T) {
	onStage(t, func(t *theatre) {
		errs := make(chan error)
		const creators = 6
		for range creators {
			go func() {
				_, err := t.db.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
				errs <- err
			}()
		}
		for range creators {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		t.wantPolicy("t", hourly)
	})
}

func TestSafeUpdates(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		t.exec("SET sql_safe_updates=1", "CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR",
			"ALTER TABLE t TTL_ENABLE='ON'", "CREATE TABLE u LIKE t", "ALTER TABLE t ADD COLUMN d DATE, TTL = d + INTERVAL 1 DAY")
		t.wantPolicy("t", "armed d 1 DAY 24h")
		t.wantPolicy("u", hourly)
	})
}

func TestDecorate(t *testing.T) {
	t.Parallel()
	const ttl = " /*T![ttl] TTL */"
	for in, want := range map[string]string{
		"CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB":                                             "CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB" + ttl,
		"CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB\n PARTITION BY HASH (`a`)\nPARTITIONS 4":     "CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB" + ttl + "\n PARTITION BY HASH (`a`)\nPARTITIONS 4",
		"CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB\n/*!50100 PARTITION BY HASH (`a`)\nPARTS */": "CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB" + ttl + "\n/*!50100 PARTITION BY HASH (`a`)\nPARTS */",
		"CREATE TEMPORARY TABLE `t` (\n  `a` int\n) ENGINE=InnoDB":                                   "CREATE TEMPORARY TABLE `t` (\n  `a` int\n) ENGINE=InnoDB",
	} {
		if got := string(decorate([]byte(in), ttl)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestShowCreatePrepared(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
		show, err := t.db.PrepareContext(t.Context(), "SHOW CREATE TABLE t")
		if err != nil {
			t.Fatal(err)
		}
		defer show.Close()
		var name, text string
		if err := show.QueryRowContext(t.Context()).Scan(&name, &text); err != nil || !strings.Contains(text, "TTL_ENABLE='ON'") {
			t.Errorf("got %s, %v", text, err)
		}
	})
}
