package statement

import (
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// TestOptionsInEveryForm says how partitions go, and by which plan and with which priority rows do, in every form in
// which a statement may arrive: as text, prepared in either way, in a comment, for a table of another schema, and in
// character sets in which letters end in quotes.
func TestOptionsInEveryForm(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		const clause = "TTL_PARTITION = 'EXCHANGE' TTL_PARTITION_GRACE = '3d' TTL_PLAN = 'QUEUE' TTL_PRIORITY = 'QUIET'"
		alter := "ALTER TABLE `縗` " + clause
		text := "'" + "ALTER TABLE `縗` TTL_PARTITION = ''EXCHANGE'' TTL_PARTITION_GRACE = ''3d'' TTL_PLAN = ''QUEUE'' " +
			"TTL_PRIORITY = ''QUIET''" + "'"
		t.exec("CREATE TABLE `縗` (id INT NOT NULL, created DATETIME NOT NULL, PRIMARY KEY (id, created)) " +
			"TTL = created + INTERVAL 10 HOUR PARTITION BY RANGE COLUMNS (created) (" +
			"PARTITION p0 VALUES LESS THAN ('2020-01-01'), PARTITION p1 VALUES LESS THAN (MAXVALUE))")
		options := func() map[string]string {
			p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: "縗"})
			if err != nil {
				t.Fatal(err)
			}
			return p.Rule.Options
		}

		for name, say := range map[string]func(){
			"text":      func() { t.exec(alter) },
			"PREPARE":   func() { t.exec("PREPARE s FROM "+text, "EXECUTE s") },
			"variable":  func() { t.exec("SET @ddl = "+text, "PREPARE s FROM @ddl", "EXECUTE s") },
			"comment":   func() { t.exec("ALTER TABLE `縗` /*T![ttl] " + clause + " */") },
			"versioned": func() { t.exec("/*!50100 ALTER TABLE `縗` " + clause + " */") },
			"elsewhere": func() {
				t.exec("USE information_schema", "ALTER TABLE "+ddl.Quote(t.schema)+".`縗` "+clause, "USE "+ddl.Quote(t.schema))
			},
			"gbk": func() { t.exec("SET NAMES gbk", ddl.Encode(alter, "gbk"), "SET NAMES utf8mb4") },
			"gbk prepared": func() {
				t.exec("SET NAMES gbk", ddl.Encode("PREPARE s FROM "+text, "gbk"), "EXECUTE s", "SET NAMES utf8mb4")
			},
			"protocol": func() {
				s, err := t.db.PrepareContext(t.Context(), alter)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if _, err := s.ExecContext(t.Context()); err != nil {
					t.Error(err)
				}
			},
		} {
			say()
			if o := options(); o[ddl.OptionPartition] != ddl.PartitionExchange || o[ddl.OptionGrace] != "3d" ||
				o[ddl.OptionPlan] != ddl.PlanQueue || o[ddl.OptionPriority] != "QUIET" {
				t.Errorf("%s: got options %v", name, o)
			}
			t.exec("ALTER TABLE `縗` TTL_PARTITION = '' TTL_PARTITION_GRACE = '' TTL_PLAN = '' TTL_PRIORITY = ''")
			if o := options(); len(o) != 0 {
				t.Errorf("%s: options %v are left", name, o)
			}
		}

		// A temporary table of that name has no policy, and hides the one that has.
		t.exec("CREATE TEMPORARY TABLE `縗` (created DATETIME)")
		if _, err := t.db.ExecContext(t.Context(), alter); err == nil {
			t.Error("a temporary table has a policy")
		}
		if o := options(); len(o) != 0 {
			t.Errorf("the table behind a temporary one has options %v", o)
		}
	})
}
