package statement

import (
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// TestOnlineSchemaChange sends the statements of gh-ost and pt-online-schema-change.
func TestOnlineSchemaChange(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR " +
			"TTL_JOB_INTERVAL='2h'")
		before, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: "t"})
		if err != nil {
			t.Fatal(err)
		}

		// gh-ost: the ghost comes from LIKE, the cut-over is a RENAME that waits behind LOCK TABLES
		// of another session.
		s := t.schema
		t.exec("CREATE /* gh-ost */ TABLE `"+s+"`.`_t_gho` LIKE `"+s+"`.`t`",
			"ALTER /* gh-ost */ TABLE `"+s+"`.`_t_gho` ADD COLUMN extra INT",
			"CREATE /* gh-ost */ TABLE `"+s+
				"`.`_t_del` (id INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB COMMENT='ghost-cut-over-sentry'")
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
			_, err := t.db.ExecContext(t.Context(),
				"RENAME /* gh-ost */ TABLE `"+s+"`.`t` TO `"+s+"`.`_t_del`, `"+s+"`.`_t_gho` TO `"+s+"`.`t`")
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
