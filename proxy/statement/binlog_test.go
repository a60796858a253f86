package statement

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// Pitfall 35: what is run in the client's name is in the binlog: the statement without our clause,
// and the empty ALTER that checks rights; nothing else of ours.
func TestBinlogShowsWhatWeRun(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR",
			"ALTER TABLE t TTL = created + INTERVAL 10 HOUR")
		var got []string
		for _, q := range t.binlog() {
			if strings.Contains(q, " t ") || strings.HasSuffix(q, " t") || strings.Contains(q, "`t`") {
				got = append(got, strings.Join(strings.Fields(strings.ReplaceAll(q, "`", "")), " "))
			}
		}

		for _, q := range got {
			if strings.Contains(q, "TTL") {
				t.Errorf("our clause is in the binlog: %s", q)
			}
		}

		if len(got) == 0 || !strings.HasPrefix(got[0], "CREATE TABLE t (id INT PRIMARY KEY, created DATETIME)") {
			t.Errorf("got %q, want the CREATE first", got)
		}
		if !slices.ContainsFunc(got[1:], func(q string) bool { return strings.HasPrefix(q, "ALTER TABLE") }) {
			t.Errorf("got %q, want the empty ALTER", got)
		}
	})
}

// binlog lists the statements which the server has logged for the test's schema.
func (t *theatre) binlog() []string {
	t.Helper()
	rows, err := t.direct.QueryContext(t.Context(), "SHOW BINLOG EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()

	var out []string
	for rows.Next() {
		var file, kind, info string
		var at, server, end uint64
		if err := rows.Scan(&file, &at, &kind, &server, &end, &info); err != nil {
			t.Fatal(err)
		}
		if _, statement, ok := strings.Cut(info, "use `"+t.schema+"`; "); ok {
			statement, _, _ = strings.Cut(statement, " /* xid=")
			out = append(out, statement)
		}
	}

	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}

	return out
}

// Whoever plays a binary log back gives each transaction its number: an ALTER must be the one that
// takes it.
func TestNumberedTransaction(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
		number, taken := "SET gtid_next = 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:"+
			strconv.FormatInt(time.Now().UnixNano(), 10)+"'", "SET gtid_next = AUTOMATIC"
		if t.store.Server().MariaDB {
			number, taken = "SET gtid_seq_no = "+strconv.FormatInt(time.Now().Unix(), 10), "DO 1"
		}
		if _, err := t.db.ExecContext(t.Context(), number); err != nil {
			t.Skipf("%s: %v", number, err)
		}

		t.exec("ALTER TABLE t ADD COLUMN x INT", taken)
		t.wantPolicy("t", hourly)
		if !t.store.Server().MariaDB {
			return
		}

		var last string
		if err := t.db.QueryRowContext(t.Context(), "SELECT @@last_gtid").Scan(&last); err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimPrefix(number, "SET gtid_seq_no = "); last != "" && !strings.HasSuffix(last, "-"+want) {
			t.Errorf("the ALTER got the number %s, want %s", last, want)
		}
	})
}

// Who may give transactions numbers, and nothing else, stops no policy by trying what he may not
// do; and the number is still there for who has the right.
func TestNumbersGiveNoRight(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
		number, none, right := "SET gtid_next = 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:%d'",
			"ROLLBACK; SET gtid_next = AUTOMATIC", "SESSION_VARIABLES_ADMIN ON *.*"
		if t.server.MariaDB() {
			number, none, right = "SET gtid_seq_no = %d", "ROLLBACK; SET gtid_seq_no = 0", "BINLOG REPLAY ON *.*"
		}

		c := t.server.Account(t.T, "numbers", right, "SELECT ON "+t.schema+".*")
		c.DBName = t.schema
		db := t.open(c)
		db.SetMaxOpenConns(1)
		seen := func() string {
			p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: "t"})
			events, failed := t.store.Events(t.Context(), catalog.Filter{})
			return fmt.Sprintf("%+v, %d events %v", p, len(events), errors.Join(err, failed))
		}

		before := seen()
		for i, s := range []string{
			"TRUNCATE TABLE t", "DROP TABLE t", "ALTER TABLE t ADD COLUMN x INT", "ALTER TABLE t REMOVE TTL",
			"RENAME TABLE t TO u",
			"OPTIMIZE TABLE t", "CREATE INDEX i ON t (created)", "DROP DATABASE " + t.schema,
			"BEGIN; ALTER TABLE t ADD COLUMN x INT",
		} {
			if _, err := db.ExecContext(t.Context(), fmt.Sprintf(number, time.Now().Unix()+int64(i))); err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), s); err == nil && !strings.HasPrefix(s, "OPTIMIZE") {
				t.Errorf("%s: went through without the right", s)
			}
			if got := seen(); got != before {
				t.Errorf("%s: without the right it left\n%s, which was\n%s", s, got, before)
			}
			if _, err := db.ExecContext(t.Context(), none); err != nil {
				t.Fatal(err)
			}
		}
	})
}
