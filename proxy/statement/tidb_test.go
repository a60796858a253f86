package statement

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/ddl"
)

func TestTablesOfTiDBAreDescribed(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, _ *adminBed, db *sql.DB) {
		for _, table := range ddl.TiDBTables() {
			selected, described := columns(t, db, "SELECT * FROM mysql."+table), []string{}
			for _, line := range rows(t, db, "DESC mysql."+table) {
				name, _, _ := strings.Cut(line, "|")
				described = append(described, name)
			}

			if !slices.Equal(selected, described) {
				t.Errorf("%s: SELECT gives %q, DESC %q", table, selected, described)
			}
		}

		for query, want := range map[string]string{
			"DESC mysql.tidb_ttl_task job_id":                                   "job_id|varchar(64)|NO|PRI|NULL|",
			"EXPLAIN `mysql`.`tidb_ttl_task` 'scan_i%'":                         "scan_id|int(11)|NO|PRI|NULL|",
			"SHOW COLUMNS FROM tidb_ttl_task FROM mysql LIKE 'expire%'":         "expire_time|timestamp|YES||NULL|",
			"SHOW FULL COLUMNS IN mysql.tidb_ttl_task WHERE Field = 'status'":   "status|varchar(64)|utf8mb4_bin|YES||NULL||select|",
			"SHOW FIELDS FROM mysql.tidb_ttl_job_history LIKE 'deleted\\_rows'": "deleted_rows|bigint(64)|YES||NULL|",
		} {
			if got := rows(t, db, query); !slices.Equal(got, []string{want}) {
				t.Errorf("%s: got %q, want %q", query, got, want)
			}
		}

		got := rows(t, db, "SHOW CREATE TABLE mysql.tidb_ttl_table_status")
		if len(got) != 1 || !strings.HasPrefix(got[0],
			"tidb_ttl_table_status|CREATE TABLE `tidb_ttl_table_status` (\n  `table_id` bigint(64) NOT NULL,") {
			t.Errorf("got %q", got)
		}

		st, err := db.PrepareContext(t.Context(), "DESC mysql.tidb_ttl_task")
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()

		if n := count(t, st); n != len(rows(t, db, "DESC mysql.tidb_ttl_task")) {
			t.Errorf("prepared: %d lines", n)
		}
	})
}

func TestOtherTablesWithANameOfTiDBsAreTheServers(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, _ *adminBed, db *sql.DB) {
		run(t, db,
			"CREATE TABLE tidb_ttl_task (mine INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY TTL_TIME_ZONE "+
				"= 'UTC'")
		for _, query := range []string{"DESC tidb_ttl_task mine", "SHOW COLUMNS FROM tidb_ttl_task LIKE 'mine'"} {
			if got := rows(t, db, query); len(got) != 1 || !strings.HasPrefix(got[0], "mine|int") {
				t.Errorf("%s: got %q", query, got)
			}
		}

		const query = "SHOW CREATE TABLE tidb_ttl_task"
		if got := rows(t, db, query)[0]; !strings.Contains(got, "`mine` int") ||
			!strings.Contains(got, "TTL=`at` + INTERVAL 1 DAY") {
			t.Errorf("got %s", got)
		}

		st, err := db.PrepareContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()

		if n := count(t, st); n != 1 {
			t.Errorf("prepared: %d lines", n)
		}

		run(t, db, "INSERT INTO tidb_ttl_task VALUES (7, NOW())")
		run(t, db, "PREPARE s FROM 'SELECT mine FROM tidb_ttl_task'")
		if got := rows(t, db, "EXECUTE s"); !slices.Equal(got, []string{"7"}) {
			t.Errorf("prepared under a name: got %q", got)
		}

		run(t, db, "USE mysql")
		if got := rows(t, db, "DESC tidb_ttl_task scan_id"); len(got) != 1 {
			t.Errorf("in schema mysql: got %q", got)
		}
	})
}
