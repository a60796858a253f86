package statement

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// fill puts rows into a table, one for each hour that they are old.
func (b *adminBed) fill(t *testing.T, name string, hours ...int) {
	t.Helper()
	for i, h := range hours {
		run(t, b.db, fmt.Sprintf("INSERT INTO %s.%s (id, at) VALUES (%d, UTC_TIMESTAMP() - INTERVAL %d HOUR)",
			b.schema, name, i+1, h))
	}
}

// TestExplainComparesPlans: each plan says what it would cost, and one that is missing what it needs.
// Jobs every second without an index are warned of with their price, in rows read for each that goes.
func TestExplainComparesPlans(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders", func(r *catalog.Rule) { r.JobInterval = "1s" })
		b.fill(t, "orders", 50, 30, 26, 20, 1)
		explained := func() string { return strings.Join(rows(t, db, "EXPLAIN TTL orders"), "\n") }

		add := "ALTER TABLE `" + b.schema + "`.`orders` ADD INDEX (`at`)"
		for _, want := range []string{
			"plan index|about 7 rows read with 3 statements, rows go within 1s; needs " + add,
			"plan range|about 8 rows read with 2 statements, rows go within 1s (chosen)",
			"plan queue|about 10 rows read with 4 statements, rows go within 1s; needs ALTER TABLE `" + b.schema +
				"`.`orders` TTL_PLAN = 'QUEUE'",
			"plan partition|none: `at` would have to be in the primary key, and may be NULL",
			"warning|jobs every 1s without an index on at: each reads all of 5 rows; " + add,
		} {
			if got := explained(); !strings.Contains(got, want) {
				t.Errorf("got %s\nwithout %s", got, want)
			}
		}

		run(t, b.db, "INSERT INTO "+b.store.Schema()+".run (policy_id, run_at, deleted, finished, finished_at) "+
			"SELECT id, UTC_TIMESTAMP(6) - INTERVAL n SECOND, 1, TRUE, UTC_TIMESTAMP(6) - INTERVAL n SECOND FROM "+
			b.store.Schema()+".policy, (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3) seconds WHERE table_name = 'orders'")
		want := "each reads all of 5 rows, about 5 for each row that it deletes; " + add
		if got := explained(); !strings.Contains(got, want) {
			t.Errorf("with what is usual known: got %s\nwithout %s", got, want)
		}

		run(t, db, add)
		got := explained()
		if strings.Contains(got, "needs ") || strings.Contains(got, "without an index") ||
			!strings.Contains(got, "plan queue|none: the table has index at") {
			t.Errorf("with an index: got %s", got)
		}
	})
}

// TestExplainComparesPartitions: what partitions would give is told, whether the table has them, could
// have them, or cannot, and in words that tell nobody the name of a trigger.
func TestExplainComparesPartitions(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders", func(r *catalog.Rule) { r.JobInterval = "1h" })
		run(t, b.db, "ALTER TABLE "+b.schema+".orders MODIFY at DATETIME NOT NULL")
		b.fill(t, "orders", 50, 30, 26, 20, 1)
		partition := func() string {
			t.Helper()
			for _, line := range rows(t, db, "EXPLAIN TTL orders") {
				if text, found := strings.CutPrefix(line, "plan partition|"); found {
					return text
				}
			}
			t.Fatal("no word about partitions")
			return ""
		}

		table := "ALTER TABLE `" + b.schema + "`.`orders` "
		want := "about 6 rows read with 2 statements, rows go within 1h; needs " + table +
			"DROP PRIMARY KEY, ADD PRIMARY KEY (`id`, `at`) PARTITION BY RANGE COLUMNS (`at`) (… 29 partitions …), and " +
			"TTL_PARTITION"
		if got := partition(); got != want {
			t.Errorf("undivided: got %q, want %q", got, want)
		}

		// The second of three partitions would go whole, the last has what has not expired.
		day := time.Now().UTC().Truncate(24 * time.Hour)
		run(t, b.db, fmt.Sprintf("ALTER TABLE %s.orders DROP PRIMARY KEY, ADD PRIMARY KEY (id, at) PARTITION BY RANGE "+
			"COLUMNS (at) (PARTITION a VALUES LESS THAN ('%s'), PARTITION b VALUES LESS THAN ('%s'), "+
			"PARTITION c VALUES LESS THAN (MAXVALUE))", b.schema, day.AddDate(0, 0, -9).Format(time.DateOnly),
			day.AddDate(0, 0, -1).Format(time.DateOnly)))
		if got := partition(); !strings.Contains(got, "needs "+table+"TTL_PARTITION = 'DROP'") {
			t.Errorf("divided: got %q", got)
		}

		run(t, b.db, "CREATE TRIGGER "+b.schema+".hidden BEFORE DELETE ON "+b.schema+".orders FOR EACH ROW SET @x = 1")
		if got := partition(); got != "none: a trigger would not fire" {
			t.Errorf("with a trigger: got %q", got)
		}
	})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		b.fill(t, "orders", 50, 30, 26, 20, 1)
		lines := map[string]string{}
		for _, line := range rows(t, db, "EXPLAIN TTL orders") {
			property, value, _ := strings.Cut(line, "|")
			lines[property] += value + "\n"
		}

		for property, want := range map[string]string{
			"ttl": "`at` + INTERVAL 1 DAY\n", "time zone": "UTC (from the table)\n", "rows": "5\n",
			"rows due now": "3 (60 %)\n", "plan": "range\n", "key": "PRIMARY\n", "sample keys": "1, 2, 3\n",
		} {
			if lines[property] != want {
				t.Errorf("%s: got %q, want %q", property, lines[property], want)
			}
		}

		if !strings.Contains(lines["statement"], "DELETE FROM") || lines["oldest due"] == "" ||
			lines["newest due"] <= lines["oldest due"] {
			t.Errorf("got %v", lines)
		}
	})
}

// TestExplainCountsEveryLimit: the duration is that of the slowest limit, and windows put the end
// off.
func TestExplainCountsEveryLimit(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		now := time.Now().UTC()
		b.declare(t, "orders", func(r *catalog.Rule) {
			r.Options = map[string]string{
				ddl.OptionDeleteRate: "1", ddl.OptionMaxLag: "8h",
				ddl.OptionWindow: now.Add(3*time.Hour).Format("15:04") + "-" + now.Add(4*time.Hour).Format("15:04"),
			}
		})

		b.fill(t, "orders", 50, 30, 26, 20, 1)
		run(t, db, "SET time_zone = '+02:00'")
		all := strings.Join(rows(t, db, "EXPLAIN TTL orders"), "\n")
		end := now.Add(3 * time.Hour).Truncate(time.Minute).Add(3 * time.Second).
			In(time.FixedZone("", 7200)).Format("2006-01-02 15:04:05-07:00")

		for _, want := range []string{
			"schedule|every 4h, half of TTL_MAX_LAG", "delete rate|1", "max lag|8h",
			"estimated duration|3s (TTL_DELETE_RATE)", "estimated end|" + end,
		} {
			if !strings.Contains(all, want) {
				t.Errorf("there is no %s in\n%s", want, all)
			}
		}
	})
}

// TestForecastOfAJob: the duration is that of the slowest of what is deleted and what is read, by so many
// nodes as have a task, at the speed of the last job that tells one; and it is warned of if a job may not
// take that long.
func TestForecastOfAJob(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		p := b.declare(t, "orders")
		b.fill(t, "orders", 50, 30, 26, 20, 1) // three of five rows are due, and all are read
		forecast := func() string {
			t.Helper()
			all := rows(t, db, "EXPLAIN TTL orders")
			i := slices.IndexFunc(all, func(line string) bool { return strings.HasPrefix(line, "estimated duration|") })
			return strings.TrimPrefix(all[i], "estimated duration|")
		}
		check := func(what, want string) {
			t.Helper()
			if got := forecast(); got != want {
				t.Errorf("%s: got %s, want %s", what, got, want)
			}
		}

		for _, c := range []struct{ what, settings, alone, two string }{
			{"nothing limits", "", "under a second (assumed, no job has run yet)", ""},
			{"reading", "ttl_scan_rate_limit = 1", "5s (ttl_scan_rate_limit)", ""},
			{
				"deleting", "ttl_delete_rows_limit = 1", "3s (ttl_delete_rows_limit)",
				"3s (ttl_delete_rows_limit of 1 of 2 nodes)",
			},
			{
				"deleting, of all nodes", "ttl_cluster_rows_limit = 2", "2s (ttl_cluster_rows_limit)",
				"3s (ttl_cluster_rows_limit, the part of 1 of 2 nodes)",
			},
			{
				"of the two the slower", "ttl_scan_rate_limit = 2, GLOBAL ttl_delete_rows_limit = 1",
				"3s (ttl_delete_rows_limit)", "3s (ttl_delete_rows_limit of 1 of 2 nodes)",
			},
			{
				"statements", "ttl_delete_rate_limit = 2, GLOBAL ttl_delete_batch_size = 1",
				"2s (ttl_delete_rate_limit)", "2s (ttl_delete_rate_limit of 1 of 2 nodes)",
			},
		} {
			if c.settings != "" {
				run(t, db, "SET GLOBAL "+c.settings)
			}
			check(c.what, c.alone)

			id, err := b.store.Join(t.Context(), catalog.Node{Name: "a", Engine: true, Workers: 4})
			if err != nil {
				t.Fatal(err)
			}
			other, err := b.store.Join(t.Context(), catalog.Node{Name: "b", Engine: true, Workers: 4})
			if err != nil {
				t.Fatal(err)
			}
			if c.two == "" {
				c.two = c.alone
			}
			check(c.what+", with two nodes", c.two)
			for _, node := range []uint64{id, other} {
				if err := b.store.Leave(t.Context(), node); err != nil {
					t.Fatal(err)
				}
			}
			run(t, db, "SET GLOBAL ttl_scan_rate_limit = 0, GLOBAL ttl_delete_rows_limit = 0, "+
				"GLOBAL ttl_cluster_rows_limit = 0, GLOBAL ttl_delete_rate_limit = 0, "+
				"GLOBAL ttl_delete_batch_size = DEFAULT")
		}

		// Jobs that deleted little, or went another way, tell nothing.
		for i, job := range []string{
			"'range', 30000, INTERVAL 10 DAY", "'range', 7, INTERVAL 5 DAY", "'index', 30000, INTERVAL 20 DAY",
			"'range', 0, INTERVAL 1 SECOND",
		} {
			job := strings.SplitN(job, ", ", 3)
			run(t, b.db, fmt.Sprintf("INSERT INTO %s.job_history (job_id, policy_id, policy_version, schema_name, "+
				"table_name, partition_name, state, reason, cutoff, trigger_kind, plan, plan_reason, tasks, "+
				"tasks_finished, examined, deleted, refreshed, failed, skipped, note, created_at, finished_at) SELECT "+
				"%d, %d, 1, '%s', 'orders', '', 'finished', '', UTC_TIMESTAMP(6), 'schedule', %s, '', 1, 1, 60000, %s, "+
				"0, 0, 0, '', UTC_TIMESTAMP(6) - %s, UTC_TIMESTAMP(6)", b.store.Schema(), 41+i, p.ID, b.schema, job[0],
				job[1], job[2]))
		}
		check("the last job that tells", "1m26s (as in job 41)")

		late := func() string {
			t.Helper()
			var all []string
			for _, line := range rows(t, db, "EXPLAIN TTL orders") {
				if strings.Contains(line, "timed out") {
					all = append(all, line)
				}
			}
			return strings.Join(all, "\n")
		}
		if got := late(); got != "" {
			t.Errorf("in time: got %q", got)
		}
		run(t, db, "SET GLOBAL ttl_job_timeout = '60s'")
		if got, want := late(), "warning|a job needs about 1m26s and ends as timed out after 60s (ttl_job_timeout); "+
			"the next one begins anew"; got != want {
			t.Errorf("too late: got %q, want %q", got, want)
		}
	})
}

func TestExplainAsJSONOfAnAlter(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		b.fill(t, "orders", 50, 30, 26, 20, 1)
		run(t, db, "ALTER TABLE orders REMOVE TTL")
		query := "EXPLAIN FORMAT=JSON TTL ALTER TABLE orders TTL = at + INTERVAL 2 HOUR TTL_TIME_ZONE = 'UTC'"

		var p plan.Preview
		if err := json.Unmarshal([]byte(rows(t, db, query)[0]), &p); err != nil {
			t.Fatal(err)
		}
		if p.Due != 4 || !p.Exact || p.Rows != 5 || p.Next[0].Rows != 1 || p.Seen == nil || len(p.Seen.Keys) != 4 {
			t.Errorf("got %+v", p)
		}
		if got := rows(t, db, "SHOW TTL TABLES"); len(got) != 0 {
			t.Errorf("EXPLAIN declared %q", got)
		}

		st, err := db.PrepareContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()

		if n := count(t, st); n != 1 {
			t.Errorf("prepared: %d lines, want 1", n)
		}
	})
}

func TestExplainHidesRowsFromThoseWhoMayNotReadThem(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, _ *sql.DB) {
		b.declare(t, "orders")
		b.fill(t, "orders", 50)
		half := b.client(t, b.server.Account(t, "half", "SELECT (at), DELETE ON "+b.schema+".orders"))

		all := strings.Join(rows(t, half, "EXPLAIN TTL orders"), "\n")
		if strings.Contains(all, "sample keys") || strings.Contains(all, "statement|") ||
			!strings.Contains(all, "rows due now|1 ") {
			t.Errorf("got %s", all)
		}

		reader := b.client(t, b.server.Account(t, "reader", "SELECT ON "+b.schema+".orders"))
		if code, _ := refused(t, reader, "EXPLAIN TTL orders"); code != 1142 {
			t.Errorf("without DELETE: error %d, want 1142", code)
		}
	})
}

func TestExplainOfATableNamedTTL(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, _ *adminBed, db *sql.DB) {
		if code, _ := refused(t, db, "EXPLAIN ttl id"); code != 1146 {
			t.Errorf("no such table: error %d, want 1146", code)
		}
		run(t, db, "CREATE TABLE ttl (id INT PRIMARY KEY)")
		if got := rows(t, db, "EXPLAIN ttl id"); len(got) != 1 || !strings.HasPrefix(got[0], "id|int") {
			t.Errorf("got %q, want the server's description of column id", got)
		}
	})
}

// A table that nothing can be deleted from says so when it is made, not only when its first job
// waits.
func TestTheNoteOfACreate(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		tables := map[string]string{"isam": "ENGINE = MyISAM", "innodb": ""}
		if b.server.MariaDB() {
			tables["versioned"] = "WITH SYSTEM VERSIONING"
		}

		for name, option := range tables {
			run(t, db, "CREATE TABLE "+name+" (id INT PRIMARY KEY, at DATETIME) "+option+
				" TTL = at + INTERVAL 1 DAY TTL_TIME_ZONE = 'UTC'")
			got := strings.Join(rows(t, db, "SHOW WARNINGS"), "\n")
			if unfit := strings.Contains(got, "Warning|1003|jobs will wait: the table"); unfit == (option == "") {
				t.Errorf("%s: got %s", name, got)
			}
		}
	})
}

// TestTheNoteAboutPartitions: what a rule asks for partitions and what cannot be done is told with the declaration.
func TestTheNoteAboutPartitions(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, _ *adminBed, db *sql.DB) {
		const columns = " (id INT, at DATETIME NOT NULL, PRIMARY KEY (id, at)) "
		const ttl = " TTL = at + INTERVAL 1 DAY TTL_TIME_ZONE = 'UTC' "
		const days = "PARTITION BY RANGE COLUMNS (at) (PARTITION p1 VALUES LESS THAN ('2026-01-02'), " +
			"PARTITION p2 VALUES LESS THAN ('2026-01-03'))"
		const none, ahead = "no partition goes whole: ", "no partitions are made ahead: "
		for name, c := range map[string]struct{ statements, want []string }{
			"fine": {[]string{
				"CREATE TABLE fine" + columns + ttl + "TTL_PARTITION = 'DROP' TTL_PARTITION_AHEAD = '2d' " + days,
			}, nil},
			"whole": {[]string{
				"CREATE TABLE whole" + columns + ttl + "TTL_PARTITION = 'DROP'",
			}, []string{"the table has no partitions"}},
			"fires": {[]string{
				"CREATE TABLE fires" + columns + days,
				"CREATE TRIGGER fires_by BEFORE DELETE ON fires FOR EACH ROW SET @a = 1",
				"ALTER TABLE fires" + ttl + "TTL_PARTITION = 'DROP'",
			}, []string{none + "a trigger would not fire"}},
			"odd": {[]string{
				"CREATE TABLE odd" + columns + "PARTITION BY RANGE COLUMNS (at) (PARTITION p1 VALUES LESS THAN ('2026-01-02'))",
				"ALTER TABLE odd" + ttl + "TTL_PARTITION_AHEAD = '2d'",
			}, []string{ahead}},
		} {
			for _, statement := range c.statements {
				run(t, db, statement)
			}
			got := rows(t, db, "SHOW WARNINGS")
			for _, want := range c.want {
				if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "Warning|1003|"+want) }) {
					t.Errorf("%s: got %q, want %s", name, got, want)
				}
			}
			told := func(line string) bool {
				return strings.Contains(line, none) || strings.Contains(line, ahead) || strings.Contains(line, "has no partitions")
			}
			if c.want == nil && slices.ContainsFunc(got, told) {
				t.Errorf("%s: got %q", name, got)
			}
		}
	})
}

func TestTheNoteOfAnAlter(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		b.fill(t, "orders", 50, 30, 1)
		run(t, db, "ALTER TABLE orders TTL = at + INTERVAL 1 DAY TTL_TIME_ZONE = 'Europe/Prague'")

		got := rows(t, db, "SHOW WARNINGS")
		if len(got) != 2 || !strings.HasPrefix(got[0],
			"Note|1003|TTL of `"+b.schema+"`.`orders`: 2 of 3 rows (66 %) are due now, the newest of them of ") ||
			got[1] != "Note|1003|Dates are read in time zone Europe/Prague (from the table)" {
			t.Errorf("got %q", got)
		}
		if err := b.store.Set(t.Context(), "me", map[string]string{setting.BrakePercent: "0"}); err != nil {
			t.Fatal(err)
		}

		run(t, db, "ALTER TABLE orders ADD COLUMN x INT, TTL = at + INTERVAL 2 DAY")
		got = rows(t, db, "SHOW WARNINGS")
		if !slices.ContainsFunc(got, func(line string) bool {
			return strings.Contains(line, "the next job will wait for APPROVE TTL JOB FOR")
		}) {
			t.Errorf("got %q, want the brake in it", got)
		}
	})
}

// TestTheNoteThatTakesLong: nobody is kept waiting for a note. It says how to ask for what it leaves out, and the
// policy is in force.
func TestTheNoteThatTakesLong(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.handler.moment = time.Nanosecond
		t.db.SetMaxOpenConns(1)
		t.exec("CREATE TABLE old (id INT PRIMARY KEY, at DATETIME)", "ALTER TABLE old TTL = at + INTERVAL 1 DAY")

		want := []string{
			"Note|1003|TTL of `" + t.schema + "`.`old`: the rows that are due could not be estimated in a moment; EXPLAIN TTL " +
				"shows them",
			"Note|1003|Dates are read in time zone UTC (from the server)",
		}
		if got := rows(t.T, t.db, "SHOW WARNINGS"); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		t.wantPolicy("old", "armed at 1 DAY 24h")
	})
}

// TestTheNoteTellsWhatExplainWould: a declaration that needs no right to read gives nothing away that EXPLAIN TTL, asked
// by the same account, would not, and neither names triggers that the server itself does not show to the account. All
// show them to who has the right TRIGGER; MariaDB 10.11.19, unlike MySQL, also to who may change or read the table.
func TestTheNoteTellsWhatExplainWould(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, _ *sql.DB) {
		b.declare(t, "orders")
		b.fill(t, "orders", 50, 30, 1)
		run(t, b.db, "CREATE TRIGGER "+b.schema+".veiled BEFORE DELETE ON "+b.schema+".orders FOR EACH ROW SET @x = 1")
		run(t, b.db, "CREATE TABLE "+b.schema+".items (orders_id INT, FOREIGN KEY (orders_id) REFERENCES "+b.schema+
			".orders (id) ON DELETE CASCADE)")
		run(t, b.db, "CREATE TRIGGER "+b.schema+".veiled_too BEFORE DELETE ON "+b.schema+".items FOR EACH ROW SET @x = 1")

		const runs = "triggers will run for every deleted row: "
		for _, c := range []struct {
			name, rights string
			reads        bool
		}{
			{"alters", "ALTER", false},
			{"deletes", "ALTER, DELETE", false},
			{"reads", "ALTER, DELETE, SELECT (at)", true},
			{"triggers", "ALTER, DELETE, SELECT, TRIGGER", true},
		} {
			account := b.server.Account(t, c.name, c.rights+" ON "+b.schema+".orders")
			shown := rows(t, mysqltest.Open(t, account), "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS")
			if len(shown) == 0 && strings.Contains(c.rights, "TRIGGER") {
				t.Errorf("%s: the server shows no trigger", c.rights)
			}

			var tells []string
			tellsNone := []string{"items", "veiled_too"}
			switch {
			case !c.reads:
				tellsNone = append(tellsNone, "rows", "due", "veiled")
			case len(shown) == 0:
				tells = []string{"2 of 3 rows", ", the newest of them of ", runs + "1 that you may not see"}
				tellsNone = append(tellsNone, "veiled")
			default:
				tells = []string{"2 of 3 rows", ", the newest of them of ", runs + "veiled"}
			}

			client := b.client(t, account)
			for _, statement := range []string{
				"ALTER TABLE orders TTL_ENABLE = 'OFF'",
				"ALTER TABLE orders ADD COLUMN " + c.name + "_more INT, TTL_ENABLE = 'OFF'",
			} {
				run(t, client, statement)
				told := strings.Join(rows(t, client, "SHOW WARNINGS"), "\n")
				if !strings.Contains(told, "Dates are read in time zone UTC") {
					t.Errorf("%s: %s tells no zone: %s", c.rights, statement, told)
				}
				for _, want := range tells {
					if !strings.Contains(told, want) {
						t.Errorf("%s: %s tells %s, want %s", c.rights, statement, told, want)
					}
				}
				for _, hidden := range tellsNone {
					if strings.Contains(told, hidden) {
						t.Errorf("%s: %s tells of %s:\n%s", c.rights, statement, hidden, told)
					}
				}
			}
		}
	})
}

// TestTheNoteStandsBesideTheServersWarnings: what is asked for the note takes nothing away from what the server has said
// about the statement, and adds nothing that it says to what was asked.
func TestTheNoteStandsBesideTheServersWarnings(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, _ *sql.DB) {
		b.declare(t, "orders")
		b.fill(t, "orders", 50, 1)
		for name, rights := range map[string]string{"alters": "ALTER, INDEX", "deletes": "ALTER, INDEX, DELETE, SELECT"} {
			client := b.client(t, b.server.Account(t, name, rights+" ON "+b.schema+".orders"))
			run(t, client, "ALTER TABLE orders ADD KEY "+name+"_1 (at), ADD KEY "+name+"_2 (at), TTL_ENABLE = 'OFF'")
			got := rows(t, client, "SHOW WARNINGS")
			if len(got) < 2 || !strings.HasPrefix(got[0], "Note|1831|") && !strings.HasPrefix(got[0], "Warning|1831|") {
				t.Errorf("%s: got %q, want first that an index is there twice", rights, got)
			}
			if i := slices.IndexFunc(got, func(line string) bool { return strings.HasPrefix(line, "Error|") }); i >= 0 {
				t.Errorf("%s: got %q, which is about no statement of the client's", rights, got[i])
			}
		}
	})
}

// TestColumnsThatTellNoAgeAreWarnedOf: a column without a date in most rows is rarely the one that was meant. EXPLAIN
// says so, in both forms, and the answer to the declaration.
func TestColumnsThatTellNoAgeAreWarnedOf(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		b.fill(t, "orders", 50, 50, 50, 50, 50, 50, 1)
		run(t, b.db, "INSERT INTO "+b.schema+".orders (id, at) VALUES (11, NULL), (12, NULL), (13, NULL),"+
			" (14, '1969-01-01'), (15, '1969-01-01'), (16, '1969-01-01'), (17, '1969-01-01')") // half of the rows
		const warning = "most of the rows never expire: is at the column that tells their age?"
		warned := func(most bool) {
			t.Helper()
			run(t, db, "ALTER TABLE orders TTL = at + INTERVAL 1 DAY TTL_TIME_ZONE = 'UTC'")
			for _, c := range []struct{ query, want string }{
				{"SHOW WARNINGS", "Warning|1003|" + warning}, // of the statement before: this comes first
				{"EXPLAIN TTL orders", "warning|" + warning},
				{"EXPLAIN FORMAT=JSON TTL orders", `"` + warning + `"`},
			} {
				if got := strings.Join(rows(t, db, c.query), "\n"); strings.Contains(got, c.want) != most {
					t.Errorf("most never expire: %v; %s: got %s", most, c.query, got)
				}
			}
		}

		warned(false)
		run(t, b.db, "INSERT INTO "+b.schema+".orders (id, at) VALUES (18, NULL)")
		warned(true)
	})
}

// TestExplainShowsBothWindows: the one of the table, and the one of all tables while there is one.
func TestExplainShowsBothWindows(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		windows := func() (found []string) {
			for _, line := range rows(t, db, "EXPLAIN TTL orders") {
				if property, _, _ := strings.Cut(line, "|"); strings.HasSuffix(property, "window") {
					found = append(found, line)
				}
			}
			return found
		}
		if got := windows(); got != nil {
			t.Errorf("without windows: %q", got)
		}

		run(t, db, "ALTER TABLE orders TTL_WINDOW = '22:00-23:00'")
		run(t, db, "SET GLOBAL ttl_job_schedule_window_start_time = '21:00 +0000', "+
			"ttl_job_schedule_window_end_time = '05:59 +0000'")
		if got, want := windows(), []string{"window|22:00-23:00", "cluster window|21:00-05:59 UTC"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
