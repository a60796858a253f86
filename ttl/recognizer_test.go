package ttl

import (
	"database/sql"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestNothingIsDeletedWithoutIDs: an account that may not see InnoDB's ids deletes nothing, and
// says what it needs. What it sees with that may be any table, so that a person has to look.
func TestNothingIsDeletedWithoutIDs(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 3000)
		account := f.serviceAccount()
		f.Exec("REVOKE PROCESS ON *.* FROM " + account.User)

		connector, err := catalog.Connector(account)
		if err != nil {
			t.Fatal(err)
		}

		db := sql.OpenDB(connector)
		defer db.Close()

		if f.Store, err = catalog.Open(t.Context(), db, catalog.Config{Schema: f.Schema + "_c"}); err != nil {
			t.Fatal(err)
		}

		f.Declare("t")
		defer f.run(func(c *Config) { c.Backend = account })()

		f.Wait("the job to be held", func() bool {
			return strings.Contains(f.Text("SELECT COALESCE(MAX(reason), '') FROM "+f.Schema+
				"_c.job WHERE state = 'paused'"), "GRANT PROCESS")
		})
		f.Exec("GRANT PROCESS ON *.* TO " + account.User)
		f.Wait("the policy to be disarmed", func() bool {
			return strings.Contains(f.Text("SELECT COALESCE(MAX(reason), '') FROM "+f.Schema+
				"_c.policy WHERE state = 'disarmed'"), "could not be read before")
		})
		if left := f.Rows("t"); left != "3000" {
			t.Errorf("%s rows are left, want all 3000", left)
		}
	})
}

// TestRightsAreTakenAwayMidJob: a table that the service account may no longer read looks as if it
// were gone. Its job waits, says what is missing, and goes on when the right is back.
func TestRightsAreTakenAwayMidJob(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		account := f.serviceAccount()
		connector, err := catalog.Connector(account)
		if err != nil {
			t.Fatal(err)
		}

		db := sql.OpenDB(connector)
		defer db.Close()

		if f.Store, err = catalog.Open(t.Context(), db, catalog.Config{Schema: f.Schema + "_c"}); err != nil {
			t.Fatal(err)
		}

		f.set(setting.DeleteRowsLimit, "100")
		rights := "ON `" + strings.ReplaceAll(f.Schema, "_", `\_`) + "`.*"
		reason := func() string { return f.Text("SELECT COALESCE(MAX(reason), '') FROM " + f.Schema + "_c.job") }
		engine := func(c *Config) { c.Backend = account }

		for table, right := range map[string]string{"all": "SELECT, DELETE", "reading": "SELECT"} {
			f.Fill(table, 20_000)
			f.Declare(table)
			stop := f.run(engine)
			f.Wait("the first rows to go", func() bool { return f.Rows(table) != "20000" })
			stop()
			f.Exec("REVOKE " + right + " " + rights + " FROM " + account.User)
			stop = f.run(engine)

			f.Wait("the job to be held", func() bool { return strings.Contains(reason(), "GRANT SELECT, DELETE ON") })
			if state := f.Text("SELECT state FROM " + f.Schema + "_c.policy WHERE table_name = '" + table +
				"'"); state != "armed" {
				t.Errorf("without %s the policy is %s", right, state)
			}

			f.Exec("GRANT " + right + " " + rights + " TO " + account.User)
			f.set(setting.DeleteRowsLimit, "0")
			f.Wait("the rows to go", func() bool { return f.Rows(table) == "10000" })
			stop()
			f.set(setting.DeleteRowsLimit, "100")
		}
	})
}

// TestExchangedPartitionMidJob: rows that are exchanged into a partition between choosing a batch
// and sending it stay, and the partition waits for a person; the others go on.
func TestExchangedPartitionMidJob(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		const columns = " (id INT NOT NULL PRIMARY KEY, made DATETIME NULL)"
		f.Exec("CREATE TABLE "+f.Schema+".t"+columns+
			" PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100000), PARTITION p1 VALUES LESS THAN MAXVALUE)",
			"CREATE TABLE "+f.Schema+".other"+columns)
		f.Fill("seed", 20_000)

		for _, table := range []string{"t", "other"} {
			f.Exec("INSERT INTO " + f.Schema + "." + table + " SELECT id, '2020-01-01' FROM " + f.Schema + ".seed")
		}

		f.Exec("INSERT INTO " + f.Schema + ".t SELECT id + 100000, made FROM " + f.Schema + ".seed")
		p := f.DeclareEvery("t", "1h")
		if _, err := f.Store.Consent(t.Context(), "test", p.ID, p.Version, catalog.Consent{}); err != nil {
			t.Fatal(err)
		}
		f.set(setting.DeleteBatchSize, "500") // neither partition is done before the fifth packet

		var packets atomic.Int64
		defer f.run(func(c *Config) {
			c.beforePacket = func() {
				if packets.Add(1) == 5 {
					f.Exec("ALTER TABLE " + f.Schema + ".t EXCHANGE PARTITION p0 WITH TABLE " + f.Schema + ".other")
				}
			}
		})()

		f.Wait("the partition to be held", func() bool {
			return strings.Contains(f.Text("SELECT COALESCE(MAX(held), '') FROM "+f.Schema+"_c.policy_identity"),
				"exchanged outside ttlproxy")
		})
		f.Wait("the other partition's rows to go", func() bool {
			return f.Text("SELECT COUNT(*) FROM "+f.Schema+".t WHERE id > 100000") == "10000"
		})
		if left := f.Text("SELECT COUNT(*) FROM " + f.Schema + ".t WHERE id < 100000"); left != "20000" {
			t.Errorf("%s rows are left of those that were exchanged in, want all 20000", left)
		}
	})
}
