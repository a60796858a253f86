package statement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

const hourly = "armed created 10 HOUR 24h"

func TestCreateAndAlter(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id BIGINT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
		t.wantPolicy("t", hourly)
		want := " /*T![ttl] TTL=`created` + INTERVAL 10 HOUR */ /*T![ttl] TTL_ENABLE='ON' */ /*T![ttl] " +
			"TTL_JOB_INTERVAL='24h' */"
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
			"CREATE TABLE child (id INT PRIMARY KEY, p INT, created DATETIME, FOREIGN KEY (p) REFERENCES parent "+
				"(id)) TTL = created + INTERVAL 10 HOUR")
		t.wantPolicy("child", hourly)
		t.fails(8152, "ALTER TABLE parent TTL = created + INTERVAL 1 DAY")
		t.exec("CREATE TABLE expires (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR",
			"CREATE TABLE other (id INT PRIMARY KEY, p INT)")
		t.fails(8152, "CREATE TABLE x (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES expires (id))")
		t.fails(8152, "ALTER TABLE other ADD FOREIGN KEY (p) REFERENCES expires (id)")
		t.fails(8152,
			"CREATE TABLE x (id INT PRIMARY KEY, p INT, created DATETIME, FOREIGN KEY (p) REFERENCES x (id)) TTL = "+
				"created + INTERVAL 1 DAY")
		t.fails(8153, "CREATE TABLE x (id DOUBLE PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY")
	})
}

// TestClausesFromADumpWait: in a session as those that load dumps, a clause in comment form has to
// be approved by somebody.
func TestClausesFromADumpWait(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		for i, c := range []struct {
			set, clause string
			waits       bool
		}{
			{"foreign_key_checks = 0", "/*T![ttl] TTL=created + INTERVAL 10 HOUR */", true},
			{"unique_checks = 0", "/*T![ttl] TTL=created + INTERVAL 10 HOUR */", true},
			{"unique_checks = 0", "TTL=created + INTERVAL 10 HOUR", false},
			{
				"character_set_results = utf16, foreign_key_checks = 0", "/*T![ttl] TTL=created + INTERVAL 10 HOUR */",
				true,
			},
			{"foreign_key_checks = 1", "/*T![ttl] TTL=created + INTERVAL 10 HOUR */", false},
		} {
			table := fmt.Sprintf("t%d", i)
			t.exec("SET foreign_key_checks = 1, unique_checks = 1, NAMES utf8mb4", "SET "+c.set,
				"CREATE TABLE "+table+" (id INT PRIMARY KEY, created DATETIME) "+c.clause)
			p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: table})
			if err != nil || p.Approval.Required != c.waits {
				t.Errorf("SET %s, %s: the policy waits for approval is %v, want %v; %v",
					c.set, c.clause, p.Approval.Required, c.waits, err)
			}
		}
	})
}

func TestPreparedAndMulti(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		create, err := t.db.PrepareContext(t.Context(),
			"CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
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
		t.exec("DROP TABLE n; CREATE TABLE m (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 " +
			"HOUR; SELECT 1; ALTER TABLE m TTL_ENABLE='OFF'; INSERT INTO m VALUES (1, NULL)")
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
		t.exec("USE " + other +
			"; CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR; USE " + t.schema)
		p, err := t.store.Policy(t.Context(), catalog.Table{Schema: other, Name: "t"})
		if err != nil || p.Rule.Column != "created" {
			t.Errorf("got %v, %v, want a policy in the schema of USE", p, err)
		}
		t.exec(`SET sql_mode='ANSI_QUOTES'; CREATE TABLE "q" (id INT PRIMARY KEY, "created" DATETIME) TTL = "created" + INTERVAL 10 HOUR; SET sql_mode=DEFAULT`)
		t.wantPolicy("q", hourly)
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
			t.exec("SET NAMES "+charset,
				ddl.Encode("CREATE TABLE `"+name+"` (id INT PRIMARY KEY, `"+name+"` DATETIME COMMENT '"+name+
					"') COMMENT='"+name+"' TTL = `"+name+"` + INTERVAL 10 HOUR", charset))
			t.wantPolicy(name, "armed "+name+" 10 HOUR 24h")
			if got := ddl.Decode(t.created(ddl.Encode("`"+name+"`", charset)), charset); !strings.Contains(got,
				"TTL=`"+name+"`") {
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

// TestSeveralCreators lets many sessions create the same table at once, as the instances of an
// application do when they start.
func TestSeveralCreators(t *testing.T) {
	onStage(t, func(t *theatre) {
		errs := make(chan error)
		const creators = 6
		for range creators {
			go func() {
				_, err := t.db.ExecContext(t.Context(),
					"CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL "+
						"10 HOUR")
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
		t.exec("SET sql_safe_updates=1",
			"CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR",
			"ALTER TABLE t TTL_ENABLE='ON'", "CREATE TABLE u LIKE t",
			"ALTER TABLE t ADD COLUMN d DATE, TTL = d + INTERVAL 1 DAY")
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
		if err := show.QueryRowContext(t.Context()).Scan(&name, &text); err != nil ||
			!strings.Contains(text, "TTL_ENABLE='ON'") {
			t.Errorf("got %s, %v", text, err)
		}
	})
}
