package statement

import (
	"database/sql"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, _ *adminBed, db *sql.DB) {
		for _, c := range []struct{ set, read, want string }{
			{"SET GLOBAL ttl_delete_batch_size = 200", "SELECT @@ttl_delete_batch_size", "200"},
			{"SET GLOBAL ttl_delete_batch_size = 100 + 23", "SELECT @@global.tidb_ttl_delete_batch_size + 1", "124"},
			{"SET @@global.tidb_ttl_job_enable = OFF", "SELECT @@ttl_job_enable", "0"},
			{"SET GLOBAL ttl_job_enable = 1", "SHOW VARIABLES LIKE 'ttl_job_enable'", "ttl_job_enable|ON"},
			{"SET GLOBAL ttl_delete_batch_size = DEFAULT", "SELECT @@ttl_delete_batch_size", "100"},
			{"SET GLOBAL ttl_running_tasks = -1", "SELECT @@ttl_running_tasks", "-1"},
			{
				"SET GLOBAL ttl_restore = arm, ttl_brake_rows = 7", "SELECT CONCAT(@@ttl_restore, @@ttl_brake_rows)",
				"arm7",
			},
			{"SET GLOBAL tidb_ttl_delete_batch_size = TRUE", "SELECT @@ttl_delete_batch_size", "1"},
			{
				"SET GLOBAL ttl_delete_batch_size = @@global.ttl_brake_rows * 2 + 1", "SELECT @@ttl_delete_batch_size",
				"15",
			},
			{"SET SESSION sort_buffer_size = @@ttl_brake_max_rows, NAMES utf8mb4, GLOBAL ttl_delete_batch_size = " +
				"DEFAULT", "SELECT @@sort_buffer_size", "1000000"},
			{"SET time_zone = '+02:00'", "SELECT 1", "1"},
			{
				"SET GLOBAL ttl_job_schedule_window_start_time = '1:30'", "SELECT @@ttl_job_schedule_window_start_time",
				"01:30 +0200",
			},
			{
				"SET SESSION sort_buffer_size = 65536, GLOBAL ttl_brake_rows = 9",
				"SELECT @@sort_buffer_size + @@ttl_brake_rows", "65545",
			},
		} {
			run(t, db, c.set)
			if got := rows(t, db, c.read); !slices.Equal(got, []string{c.want}) {
				t.Errorf("%s, then %s: got %q, want %s", c.set, c.read, got, c.want)
			}
		}
	})
}

func TestSettingsThatAreRefused(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		for query, want := range map[string]uint16{
			"SET ttl_job_enable = OFF":                               1229,
			"SET SESSION tidb_ttl_job_enable = OFF":                  1229,
			"SET GLOBAL ttl_no_such_thing = 1":                       1193,
			"SET GLOBAL ttl_job_enable = maybe":                      1231,
			"SET GLOBAL ttl_delete_batch_size = 'many'":              1232,
			"SET GLOBAL ttl_throttle_threads_running = 'abc'":        1231,
			"SET GLOBAL ttl_throttle_replica_lag = ''":               1231,
			"SET GLOBAL ttl_throttle_replica_lag = -1":               1231,
			"SET GLOBAL ttl_brake_percent = 101":                     1231,
			"SET GLOBAL ttl_brake_rows = -1":                         1231,
			"SET GLOBAL ttl_stale_hold = ''":                         1231,
			"SET GLOBAL ttl_job_schedule_window_start_time = 'noon'": 1231,
			"SET GLOBAL ttl_brake_rows = 1, no_such_variable = 1":    1193,
			"SELECT @@session.ttl_job_enable":                        1238,
			"SELECT @@ttl_no_such_thing":                             1193,
		} {
			if code, message := refused(t, db, query); code != want {
				t.Errorf("%s: error %d (%s), want %d", query, code, message, want)
			}
		}
		if got := rows(t, db, "SELECT @@ttl_brake_rows"); !slices.Equal(got, []string{"10000"}) {
			t.Errorf("a SET that failed left %q", got)
		}
	})
}

// TestNullIsNoValue: a value that nobody has given lifts no limit, and names no host.
func TestNullIsNoValue(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		run(t, db, "SET GLOBAL ttl_rate_schedule = '500', ttl_brake_rows = 7, ttl_throttle_replicas = '"+b.server.Addr()+"'")
		before := rows(t, db, "SHOW TTL VARIABLES")

		for _, s := range setting.All() {
			want, said := uint16(ddl.CodeWrongSetting), "can't be set to the value of 'NULL'" // as of the server's own
			if s.Kind == setting.KindInt {
				want, said = ddl.CodeWrongType, "Incorrect argument type"
			}
			for _, null := range []string{"NULL", "null", "@ttlproxy_unset", "(SELECT NULL)"} {
				query := "SET GLOBAL " + s.Name + " = " + null
				if code, message := refused(t, db, query); code != want || !strings.Contains(message, said) {
					t.Errorf("%s: error %d (%s), want %d (%s)", query, code, message, want, said)
				}
			}

			if code := refusedPrepared(t, db, "SET GLOBAL "+s.Name+" = ?", nil); code != want {
				t.Errorf("SET GLOBAL %s = ?, of NULL: error %d, want %d", s.Name, code, want)
			}
		}

		run(t, db, "SET @ttlproxy_word = 'NULL'")
		if code, _ := refused(t, db, "SET GLOBAL ttl_rate_schedule = @ttlproxy_word"); code != ddl.CodeWrongSetting {
			t.Errorf("the text NULL: error %d", code)
		}
		if after := rows(t, db, "SHOW TTL VARIABLES"); !slices.Equal(after, before) {
			t.Errorf("the settings are %q, were %q", after, before)
		}
		run(t, db, "SET GLOBAL ttl_rate_schedule = '', ttl_brake_rows = DEFAULT, ttl_throttle_replicas = DEFAULT")
	})
}

// refusedPrepared is the number of the error that a prepared statement is answered with; 0 for none.
func refusedPrepared(t *testing.T, db *sql.DB, query string, args ...any) uint16 {
	t.Helper()
	st, err := db.PrepareContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	_, err = st.ExecContext(t.Context(), args...)
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}

func TestNumbersAreClampedWithAWarning(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, _ *adminBed, db *sql.DB) {
		run(t, db, "SET GLOBAL tidb_ttl_scan_worker_count = 1000")
		if got := rows(t, db, "SHOW WARNINGS"); len(got) != 1 ||
			!strings.HasPrefix(got[0], "Warning|1292|Truncated incorrect tidb_ttl_scan_worker_count value: '1000'") {
			t.Errorf("SHOW WARNINGS: %q", got)
		}
		if got := rows(t, db, "SELECT @@ttl_scan_worker_count"); !slices.Equal(got, []string{"256"}) {
			t.Errorf("got %q, want 256", got)
		}
		if got := rows(t, db, "SHOW WARNINGS"); len(got) != 0 {
			t.Errorf("SHOW WARNINGS behind a SELECT: %q", got)
		}
	})
}

// TestReplicasThatAreAway: whoever names a replica that accepts no connection is told so, and it is
// stored all the same.
func TestReplicasThatAreAway(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		db.SetMaxOpenConns(1) // whose warnings are asked for
		defer db.SetMaxOpenConns(0)
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		away := l.Addr().String()
		_ = l.Close()

		warnings := func(query string) string {
			run(t, db, query)
			return strings.Join(rows(t, db, "SHOW WARNINGS"), "\n")
		}
		set := "SET GLOBAL ttl_throttle_replicas = '" + b.server.Addr() + ", " + away + "'"
		if got := warnings(set); strings.Count(got, "Warning|1105") != 1 ||
			!strings.Contains(got, "replica "+away+" cannot be reached") {
			t.Errorf("with one that is away the warnings are %q", got)
		}
		if got := rows(t, db, "SELECT @@ttl_throttle_replicas"); len(got) != 1 || !strings.Contains(got[0], away) {
			t.Errorf("stored is %q", got)
		}

		for _, query := range []string{
			"SET GLOBAL ttl_throttle_replicas = '" + b.server.Addr() + "'", "SET GLOBAL ttl_throttle_replicas = ''",
		} {
			if got := warnings(query); got != "" {
				t.Errorf("%s: the warnings are %q", query, got)
			}
		}
	})
}

func TestPreparedSettings(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, _ *adminBed, db *sql.DB) {
		set, err := db.PrepareContext(t.Context(),
			"SET GLOBAL ttl_brake_rows = ? + @@ttl_scan_batch_size * 0, SESSION sort_buffer_size = ?")
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()

		read, err := db.PrepareContext(t.Context(), "SELECT @@ttl_brake_rows, @@ttl_brake_rows > ?")
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()

		for _, n := range []int{5, 15} {
			if _, err := set.ExecContext(t.Context(), n, 65536); err != nil {
				t.Fatal(err)
			}

			var got, more int
			if err := read.QueryRowContext(t.Context(), 10).Scan(&got, &more); err != nil {
				t.Fatal(err)
			}
			if got != n || (more == 1) != (n > 10) {
				t.Errorf("read %d, more %d; want %d", got, more, n)
			}
		}
	})
}

func TestVariablesOfServerAndProxyAreShownTogether(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, _ *adminBed, db *sql.DB) {
		for query, want := range map[string]string{
			"SHOW GLOBAL VARIABLES LIKE '%ttl_brake_rows'":                                         "ttl_brake_rows|10000",
			"SHOW VARIABLES WHERE Variable_name IN ('port_x', 'tidb_ttl_job_enable')":              "tidb_ttl_job_enable|ON",
			"SHOW VARIABLES WHERE Variable_name LIKE '%brake_rows'":                                "ttl_brake_rows|10000",
			"SHOW VARIABLES WHERE Value = 'follow'":                                                "ttl_around|follow",
			"SHOW VARIABLES LIKE 'sort\\_buffer%'":                                                 "sort_buffer_size",
			"SHOW VARIABLES WHERE Variable_name LIKE 'tidb_ttl_%' AND Variable_name LIKE '%task%'": "tidb_ttl_running_tasks|-1",
			"SHOW VARIABLES WHERE LOCATE('brake_max', Variable_name)":                              "ttl_brake_max_rows|1000000",
			"SHOW VARIABLES WHERE SUBSTR(Variable_name, 4) = '_brake_factor'":                      "ttl_brake_factor|10",
			"SHOW VARIABLES WHERE Variable_name = CONCAT('t', 'tl_around')":                        "ttl_around|follow",
			"SHOW VARIABLES WHERE Variable_name > 'ttk' AND Value = 'follow'":                      "ttl_around|follow",
			"SHOW VARIABLES WHERE Variable_name = 'sort_buffer_size'":                              "sort_buffer_size",
		} {
			if got := rows(t, db, query); len(got) != 1 || !strings.HasPrefix(got[0], want) {
				t.Errorf("%s: got %q, want %s", query, got, want)
			}
		}

		all := rows(t, db, "SHOW VARIABLES")
		if !slices.IsSortedFunc(all, func(a, b string) int {
			return strings.Compare(strings.ToLower(name(a)), strings.ToLower(name(b)))
		}) {
			t.Error("SHOW VARIABLES is not in order")
		}

		if !slices.Contains(all, "ttl_job_enable|ON") || !slices.Contains(all, "tidb_ttl_job_enable|ON") ||
			len(all) < 200 {
			t.Errorf("SHOW VARIABLES has %d lines and does not show ours", len(all))
		}

		st, err := db.PrepareContext(t.Context(), "SHOW VARIABLES LIKE 'ttl_brake%'")
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()

		if n := count(t, st); n != 4 {
			t.Errorf("prepared: %d lines, want 4", n)
		}
	})
}

// Whoever asks for our settings while the catalog cannot be read is not told that there are none;
// everybody else has the server's variables, and a warning.
func TestVariablesWithoutACatalog(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.lockCatalog("setting")
		for _, asked := range []string{"LIKE 'tidb_ttl_job_enable'", "LIKE '%ttl%'", "WHERE Variable_name = 'TTL_AROUND'"} {
			t.fails(1105, "SHOW VARIABLES "+asked)
		}
		for _, late := range []string{
			"SHOW VARIABLES LIKE '%ttl%'", "SELECT @@ttl_around", "SET GLOBAL ttl_around = follow",
		} {
			if _, err := t.db.ExecContext(t.Context(), late); err == nil || !strings.Contains(err.Error(),
				"the catalog of TTL policies is locked by somebody, or the server is busy; try again") {
				t.Errorf("%s: %v", late, err)
			}
		}

		t.db.SetMaxOpenConns(1) // SHOW WARNINGS is about the session's last statement
		if all := rows(t.T, t.db, "SHOW VARIABLES"); len(all) < 200 {
			t.Errorf("SHOW VARIABLES has %d lines", len(all))
		}
		if got := rows(t.T, t.db, "SHOW WARNINGS"); len(got) != 1 || !strings.Contains(got[0], "settings of ttlproxy") {
			t.Errorf("warnings of SHOW VARIABLES: %q", got)
		}
		if got := rows(t.T, t.db, "SHOW VARIABLES LIKE 'sql\\_mode'"); len(got) != 1 {
			t.Errorf("a variable of the server: %q", got)
		}
		if got := rows(t.T, t.db, "SHOW WARNINGS"); len(got) != 0 {
			t.Errorf("its warnings: %q", got)
		}
	})
}

// name is the first column of a line.
func name(line string) string {
	name, _, _ := strings.Cut(line, "|")
	return name
}

func TestColumnsKeepTheNameOfTheVariable(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, _ *adminBed, db *sql.DB) {
		names := columns(t, db, "SELECT @@ttl_job_enable, @@global.ttl_brake_rows, @@ttl_restore AS r")
		if want := []string{"@@ttl_job_enable", "@@global.ttl_brake_rows", "r"}; !slices.Equal(names, want) {
			t.Errorf("got %q, want %q", names, want)
		}
	})
}

func TestWarningsAreOfTheLastStatement(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, _ *adminBed, db *sql.DB) {
		refused(t, db, "SELECT no_such_column")
		run(t, db, "SET GLOBAL ttl_history_days = -1")
		for range 2 {
			if got := rows(t, db, "SHOW WARNINGS"); len(got) != 1 || !strings.HasPrefix(got[0], "Warning|1292|") {
				t.Errorf("behind a SET of ours: %q", got)
			}
		}

		refused(t, db, "SELECT no_such_column")
		run(t, db, "SET GLOBAL ttl_brake_rows = DEFAULT")
		if got := rows(t, db, "SHOW WARNINGS"); len(got) != 0 {
			t.Errorf("behind a SET without a warning: %q", got)
		}
	})
}

func TestWarningsOfTheServerAreItsOwn(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		rows(t, db, "SELECT CAST('x' AS SIGNED)")
		for range 2 {
			if got := rows(t, db, "SHOW WARNINGS"); len(got) != 1 || !strings.HasPrefix(got[0], "Warning|1292|") {
				t.Errorf("SHOW WARNINGS: %q", got)
			}
		}

		if !b.server.MariaDB() {
			return // MySQL does not prepare it
		}

		st, err := db.PrepareContext(t.Context(), "SHOW WARNINGS")
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()

		rows(t, db, "SELECT CAST('x' AS SIGNED)")
		if n := count(t, st); n != 1 {
			t.Errorf("prepared: %d warnings, want 1", n)
		}
	})
}

// TestColumnsKeepTheirNames: a column that reads one of our settings has the name that the server gives to one which
// reads a setting of its own.
func TestColumnsKeepTheirNames(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		const ours, theirs = "@@TTL_BATCH_TARGET_MS", "@@MAX_CONNECTIONS"
		columns := func(db *sql.DB, query string) []string {
			r, err := db.QueryContext(t.Context(), query)
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			defer r.Close()
			names, err := r.Columns()
			if err != nil || r.Err() != nil {
				t.Fatalf("%s: %v, %v", query, err, r.Err())
			}
			return names
		}

		long := " + " + strings.Repeat("1 + ", 50) + "1"
		for _, query := range []string{
			"SELECT $+1", "SELECT 2  *  $ , $", "SELECT ($), CONCAT($, 'x') FROM dual", "SELECT $ = 'a', -$", "SELECT $ + 1 a",
			"SELECT DISTINCT 1 + $ LIMIT 1", "SELECT (SELECT $), (SELECT $ + 1) + 2", "SELECT IF($ > 1, 2, 3) `x y`, $" + long,
			"SELECT d.* FROM (SELECT $ + 1, $) AS d", "SELECT $ + 1 UNION SELECT $ + 2", "SELECT $ BETWEEN 1 AND 2, 1 IN ($)",
		} {
			want := columns(b.db, strings.ReplaceAll(query, "$", theirs))
			for i := range want {
				want[i] = strings.ReplaceAll(want[i], theirs, ours)
			}
			if got := columns(db, strings.ReplaceAll(query, "$", ours)); !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", query, got, want)
			}
		}
	})
}
