package statement

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestListsOfATableInASchema: a table can be named with its schema behind it, as SHOW COLUMNS lets one do.
func TestListsOfATableInASchema(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		b.declare(t, "visits")
		run(t, db, "USE information_schema")
		for query, want := range map[string]int{
			"SHOW TTL TABLES FOR orders FROM " + b.schema:                       1,
			"SHOW TTL JOBS FOR orders IN " + b.schema:                           1,
			"SHOW TTL EVENTS FOR " + b.schema + ".orders FROM " + b.schema:      1,
			"SHOW TTL TABLES FOR orders FROM " + b.schema + " LIKE 'x'":         0,
			"SHOW TTL TABLES FOR visits FROM `" + b.schema + "` WHERE Ttl <> 1": 1,
		} {
			if got := rows(t, db, query); len(got) != want {
				t.Errorf("%s: got %q, want %d rows", query, got, want)
			}
		}
		if code, message := refused(t, db, "SHOW TTL JOBS FOR orders FROM mysql"); code != 1146 {
			t.Errorf("of a table that is not there: error %d (%s)", code, message)
		}
		query := "SHOW TTL JOBS FOR " + b.schema + ".orders FROM mysql"
		if code, message := refused(t, db, query); code != ddl.CodeSyntax {
			t.Errorf("%s: error %d (%s), want a syntax error", query, code, message)
		}
	})
}

// TestWhereIsOneCondition: nothing else can stand behind it, and what it leaves is part of the list.
func TestWhereIsOneCondition(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		for _, condition := range []string{
			"0 UNION SELECT -1, 'value'", "0 UNION ALL SELECT 0", "1) UNION SELECT (-1", "(1)) UNION SELECT ((0)",
			"1) -- ", "1 /* ) */ )", "1 ORDER BY Value", "1 GROUP BY Value", "1 HAVING 1", "1 FOR UPDATE",
			"1 /*! ) UNION SELECT ( */ -1",
		} {
			query := "SHOW TTL STATUS WHERE " + condition
			if code, message := refused(t, db, query); code != ddl.CodeSyntax ||
				!strings.Contains(message, "the right syntax is: SHOW TTL {NODES") {
				t.Errorf("%s: error %d (%s), want a syntax error", query, code, message)
			}
			if n, err := prepared(t, db, query); err == nil {
				t.Errorf("%s was prepared, and answered with %d rows", query, n)
			}
		}

		for condition, want := range map[string]int{
			"Variable_name = 'Policies' -- one": 1, "Variable_name = 'Policies' # )": 1, "0 OR 0": 0,
			"(SELECT 1 UNION SELECT 1) AND Variable_name IN ('Policies', 'Nodes')": 2,
			"Value = ')' OR Variable_name = 'Nodes' /* ) */":                       1,
		} {
			if got := rows(t, db, "SHOW TTL STATUS WHERE "+condition); len(got) != want {
				t.Errorf("WHERE %s: got %q, want %d rows", condition, got, want)
			}
		}
	})
}

// happened writes events of a table into the catalog.
func (b *adminBed) happened(t *testing.T, n int, text string) {
	t.Helper()
	p := b.declare(t, "much")
	run(t, b.db, "INSERT INTO "+b.store.Schema()+".event (at, kind, policy_id, policy_version, schema_name, table_name, "+
		"actor, text) SELECT UTC_TIMESTAMP(6), 'changed', ?, 1, ?, ?, 'someone', ? FROM information_schema.COLUMNS LIMIT ?",
		p.ID, p.Table.Schema, p.Table.Name, text, n)
}

// TestPreparedListsAreAsLong as those that are asked for as text.
func TestPreparedListsAreAsLong(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.happened(t, longList+100, "x")
		for query, want := range map[string]int{
			"SHOW TTL EVENTS":                               longList,
			"SHOW TTL EVENTS FOR much":                      longList,
			"SHOW TTL EVENTS WHERE Text = 'x'":              longList,
			"SHOW TTL EVENTS LIKE 'changed'":                longList,
			"SHOW TTL EVENTS LIMIT 1050":                    longList + 50,
			"SHOW TTL EVENTS WHERE Text = 'x' LIMIT 1050":   longList + 50,
			"SHOW TTL EVENTS WHERE Text = 'x' LIMIT 7":      7,
			"SHOW TTL VARIABLES WHERE Variable_name <> 'x'": len(rows(t, db, "SHOW TTL VARIABLES")),
		} {
			if got := len(rows(t, db, query)); got != want {
				t.Errorf("%s: %d rows as text, want %d", query, got, want)
			}
			if got, err := prepared(t, db, query); got != want || err != nil {
				t.Errorf("%s: %d rows prepared, %v, want %d", query, got, err, want)
			}
		}
	})
}

// TestListsBeyondAPacket: a list that is longer than what the server takes at once is refused, and the session goes on.
func TestListsBeyondAPacket(t *testing.T) {
	t.Parallel()
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			b := newAdminBed(t, mysqltest.Start(t, flavour, "--max-allowed-packet=1M"))
			b.ended(t, b.declare(t, "a"), 40, strings.Repeat("because ", 2500), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
			db := b.client(t, nil)
			session := rows(t, db, "SELECT CONNECTION_ID()")[0]

			long := func(name string, ask func(query string) error, query string) {
				t.Helper()
				if err := ask(query); err == nil || !strings.Contains(err.Error(), "max_allowed_packet") {
					t.Errorf("%s, %s: got %v, want an error that names max_allowed_packet", name, query, err)
				}
				if got := rows(t, db, "SELECT CONNECTION_ID()")[0]; got != session {
					t.Fatalf("%s, %s: the session is lost", name, query)
				}
			}
			executed := func(query string) error {
				_, err := prepared(t, db, query)
				return err
			}
			text := func(query string) error {
				_, err := db.ExecContext(t.Context(), query)
				return err
			}

			long("prepared", executed, "SHOW TTL HISTORY")
			long("prepared", executed, "SHOW TTL HISTORY WHERE Reason <> ''")
			long("text", text, "SHOW TTL HISTORY WHERE Reason <> 'x'")
			long("text", text, "SELECT COUNT(*) FROM mysql.tidb_ttl_job_history")
			long("prepared", executed, "SELECT COUNT(*) FROM mysql.tidb_ttl_job_history")

			for _, query := range []string{"SHOW TTL HISTORY LIMIT 3", "SHOW TTL HISTORY WHERE Runs = 7"} {
				if err := executed(query); err != nil {
					t.Errorf("%s: %v", query, err)
				}
			}
			if got := rows(t, db, "SHOW TTL HISTORY"); len(got) != 40 {
				t.Errorf("as text there are %d rows", len(got))
			}
			run(t, db, "SET NAMES cp1250")
			long("text in another character set", text, "SHOW TTL HISTORY")
		})
	}
}

// prepared counts the rows of a prepared statement.
func prepared(t *testing.T, db *sql.DB, query string) (n int, err error) {
	t.Helper()
	st, err := mysqltest.Again(mysqltest.Busy, func() (*sql.Stmt, error) { return db.PrepareContext(t.Context(), query) })
	if err != nil {
		return 0, err
	}
	defer st.Close()
	r, err := mysqltest.Again(mysqltest.Busy, func() (*sql.Rows, error) { return st.QueryContext(t.Context()) })
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for r.Next() {
		n++
	}
	return n, r.Err()
}

// TestValuesThatAreNotUnderstood are shown as they are stored: until somebody sets another one, nothing is deleted.
func TestValuesThatAreNotUnderstood(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		for name, value := range map[string]string{
			"ttl_restore": "reverse", "ttl_brake_percent": "155", "ttl_delete_batch_size": "many", "ttl_around": "'",
			"ttl_allow_replica": "perhaps",
		} {
			run(t, b.db, "REPLACE INTO "+b.store.Schema()+".setting (name, value, changed_at) "+
				"VALUES (?, ?, UTC_TIMESTAMP(6))", name, value)
			for query, want := range map[string]string{
				"SHOW TTL VARIABLES LIKE '" + name + "'":             name + "|" + value + "|",
				"SHOW VARIABLES LIKE '" + name + "'":                 name + "|" + value,
				"SELECT @@" + name:                                   value,
				"SELECT CONCAT('|', @@global." + name + ")":          "|" + value,
				"SHOW TTL VARIABLES WHERE Value = " + literal(value): name + "|" + value + "|",
			} {
				if got := rows(t, db, query); len(got) != 1 || !strings.HasPrefix(got[0], want) {
					t.Errorf("%s: got %q, want %q", query, got, want)
				}
			}
			run(t, db, "SET GLOBAL "+name+" = DEFAULT")
		}
	})
}

// TestNamesOfListsAreFolded: where the server does not tell Shop from shop, nor do the lists.
func TestNamesOfListsAreFolded(t *testing.T) {
	t.Parallel()
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			b := newAdminBed(t, mysqltest.Start(t, flavour, "--lower-case-table-names=1"))
			p := b.declare(t, "orders")
			b.ended(t, p, 2, "because", time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
			err := b.store.RecordRowError(t.Context(), catalog.RowError{PolicyID: p.ID, Key: "[1]", Number: 1451, Reason: "x"})
			if err != nil {
				t.Fatal(err)
			}

			db, shouted := b.client(t, nil), strings.ToUpper(b.schema)
			for query, want := range map[string]int{
				"SHOW TTL TABLES FROM " + shouted:              1,
				"SHOW TTL JOBS FROM " + shouted:                1,
				"SHOW TTL HISTORY FROM " + shouted:             2,
				"SHOW TTL ERRORS IN " + shouted:                1,
				"SHOW TTL EVENTS FROM " + shouted + " LIMIT 1": 1,
				"SHOW TTL HISTORY FOR ORDERS FROM " + shouted:  2,
				"SHOW TTL TABLES FOR " + shouted + ".ORDERS":   1,
				"SELECT * FROM MYSQL.TIDB_TTL_TABLE_STATUS":    1,
			} {
				if got := rows(t, db, query); len(got) != want {
					t.Errorf("%s: got %q, want %d rows", query, got, want)
				}
			}

			run(t, db, "USE MYSQL")
			for _, query := range []string{"SELECT * FROM tidb_ttl_table_status", "DESC tidb_ttl_table_status"} {
				if got := rows(t, db, query); len(got) == 0 {
					t.Errorf("%s: got no rows", query)
				}
			}
			account := b.server.Config("MYSQL")
			account.Net, account.Addr = "tcp", b.addr
			if got := rows(t, mysqltest.Open(t, account), "SELECT * FROM tidb_ttl_table_status"); len(got) != 1 {
				t.Errorf("in a session that began with it: got %q", got)
			}
		})
	}
}

// TestLongOptionsAreShown: what a table says is not cut, nor missing.
func TestLongOptionsAreShown(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		rate := "100" + strings.Repeat(", mon 01:00-02:00 200", 100)
		window := "mon 22:00-23:00" + strings.Repeat("; tue 22:00-23:00", 100)
		b.declare(t, "orders", func(r *catalog.Rule) {
			r.Options = map[string]string{ddl.OptionDeleteRate: rate, ddl.OptionWindow: window}
		})
		query := "SHOW TTL TABLES WHERE Delete_rate = '" + rate + "' AND `Window` = '" + window + "'"
		if got := rows(t, db, query); len(got) != 1 || !strings.Contains(got[0], "|"+window+"|") {
			t.Errorf("as text: got %q", got)
		}
		if n, err := prepared(t, db, query); n != 1 || err != nil {
			t.Errorf("prepared: got %d rows, %v", n, err)
		}
	})
}
