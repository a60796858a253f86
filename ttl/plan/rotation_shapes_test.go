package plan

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// shape is a table for which EXPLAIN TTL writes a statement that works as it stands, unless why says why not.
type shape struct {
	columns string // and keys and options; $ is the TTL column
	why     string
	key     string // the new primary key, if it is not that of the columns
}

const without16 = "a1 INT, a2 INT, a3 INT, a4 INT, a5 INT, a6 INT, a7 INT, a8 INT, a9 INT, a10 INT, a11 INT, a12 INT, " +
	"a13 INT, a14 INT, a15 INT, $ DATE NOT NULL, PRIMARY KEY (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15"

func shapes() []shape {
	return []shape{
		{"id INT, $ DATETIME)", "", ""},
		{"id INT AUTO_INCREMENT PRIMARY KEY, $ DATETIME(3) NOT NULL)", "", ""},
		{"id INT AUTO_INCREMENT PRIMARY KEY, $ TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6))", "", ""},
		{"id INT, $ TIMESTAMP NULL)", "", ""},
		{"id INT, $ DATE NULL)", "", ""},
		{"a INT, b INT AUTO_INCREMENT, $ DATETIME NOT NULL, PRIMARY KEY (a, b), KEY (b))", "", ""},
		{"id INT, $ DATETIME NULL, UNIQUE (id, $))", "", ""},
		{"id INT, $ DATETIME NOT NULL, UNIQUE (id))", "does not contain", ""},
		{"id INT PRIMARY KEY, $ DATETIME NULL)", "may be NULL", ""},
		{"id INT PRIMARY KEY, v INT AS (id + 1) VIRTUAL, $ DATETIME NOT NULL, KEY (v), CHECK (id > 0))", "", ""},
		{"id INT PRIMARY KEY, $ DATETIME NOT NULL) ROW_FORMAT = COMPACT COMMENT = 'TABLESPACE `x`'", "", ""},

		{"name VARCHAR(99), $ DATETIME NOT NULL, PRIMARY KEY (name(10)))", "", "`name`(10),$"},
		{"x INT, name TEXT, $ DATETIME NOT NULL, PRIMARY KEY (x, name(10)))", "", "`x`,`name`(10),$"},
		{"name BLOB, $ DATETIME NOT NULL, PRIMARY KEY (name(3064)))", "", "`name`(3064),$"},
		{"name BLOB, $ DATETIME NOT NULL, PRIMARY KEY (name(3070)))", "longer than 3072 bytes", ""},
		{"name VARCHAR(766) CHARACTER SET utf8mb4, $ DATETIME NOT NULL, PRIMARY KEY (name))", "", ""},
		{"name VARCHAR(767) CHARACTER SET utf8mb4, $ DATETIME NOT NULL, PRIMARY KEY (name))", "longer than 3072 bytes", ""},
		{"e ENUM('a', 'b'), s SET('a', 'b'), u BINARY(16), d DECIMAL(65, 30), $ DATE NOT NULL, PRIMARY KEY (e, s, u, d))", "", ""},
		{"id INT PRIMARY KEY, g POINT, $ DATETIME NOT NULL)", "spatial columns: g", ""},
		{without16 + "))", "", ""},
	}
}

func shapesOfMySQL() []shape {
	return []shape{
		{"id INT, j INT, $ DATETIME NOT NULL, PRIMARY KEY (id DESC, j))", "", "`id` DESC,`j`,$"},
		{"id INT, $ DATETIME NOT NULL, UNIQUE ((id + 1)))", "does not contain", ""},
		{"id INT, $ DATETIME NOT NULL)", "generated its primary key", ""}, // see below
		{"id INT PRIMARY KEY, $ DATETIME NOT NULL) TABLESPACE = innodb_system", "that others share", ""},
		{"id INT PRIMARY KEY, $ DATETIME NOT NULL) TABLESPACE = innodb_file_per_table", "", ""},
		{strings.Replace(without16, "a1 INT,", "a1 INT, a16 INT,", 1) + ", a16))", "as many columns as there may be (16)", ""},
	}
}

func shapesOfMariaDB() []shape {
	return []shape{
		{strings.Replace(without16, "a1 INT,", "a1 INT, a16 INT,", 1) + ", a16))", "", ""},
		{"id INT PRIMARY KEY, u TEXT, $ DATETIME NOT NULL, UNIQUE (u, $))", "", ""},
		{"id UUID PRIMARY KEY, i INET6, $ DATETIME NOT NULL)", "", ""},
		{
			"id INT, a DATE, b DATE, $ DATETIME NOT NULL, PERIOD FOR p (a, b), PRIMARY KEY (id, p WITHOUT OVERLAPS))",
			"WITHOUT OVERLAPS", "",
		},
	}
}

// TestRotationOfEveryShape: the statement that EXPLAIN TTL writes works as it stands, whatever the table is like,
// and keeps what the primary key says; or there is none, and the reason is that of the server.
func TestRotationOfEveryShape(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "DROP DATABASE IF EXISTS advised", "CREATE DATABASE advised")
		all := append(shapes(), shapesOfMySQL()...)
		if ofMariaDB(t, db) {
			all = append(shapes(), shapesOfMariaDB()...)
		}
		for i, c := range all {
			name := fmt.Sprintf("t%d", i)
			create := "CREATE TABLE advised." + name + " (" + strings.ReplaceAll(c.columns, "$", "`m``ade`")
			if strings.Contains(c.why, "generated") {
				create = "SET SESSION sql_generate_invisible_primary_key = ON; " + create +
					"; SET SESSION sql_generate_invisible_primary_key = OFF"
			}
			withOneConn(t, db, strings.Split(create, "; "))

			_, r, _ := advised(t, db, name, time.Now(), ddl.Span{Months: 1})
			if c.why != "" {
				if r.Statement != "" || !strings.Contains(r.Note, c.why) {
					t.Errorf("%s: got %q because %q, want none because %q", c.columns, r.Statement, r.Note, c.why)
				}
				continue
			}
			if r.Statement == "" {
				t.Errorf("%s: there is no statement, because %q", c.columns, r.Note)
				continue
			}
			if _, err := db.ExecContext(t.Context(), r.Statement); err != nil {
				t.Errorf("%s: %.160s…: %v", c.columns, r.Statement, err)
				continue
			}
			shown := textOfSecond(t, db, "SHOW CREATE TABLE advised."+name)
			if want := "PRIMARY KEY (" + strings.ReplaceAll(c.key, "$", "`m``ade`") + ")"; c.key != "" &&
				!strings.Contains(shown, want) {
				t.Errorf("%s: got %s, want %s", c.columns, shown, want)
			}
		}
	})
}

func withOneConn(t *testing.T, db *sql.DB, statements []string) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, s := range statements {
		if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func textOfSecond(t *testing.T, db *sql.DB, query string) (text string) {
	t.Helper()
	var first string
	if err := db.QueryRowContext(t.Context(), query).Scan(&first, &text); err != nil {
		t.Fatal(err)
	}
	return text
}
