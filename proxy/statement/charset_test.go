package statement

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy"
)

// In whatever character set a name comes, we read it as the server does, or not at all. Every set
// of the server is tried, with names of every byte and of many pairs; what the server makes of them
// is what it calls a column of that name.
func TestNamesInEveryCharacterSet(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		address := proxyWith(t, s.Addr(), handlerFunc(saysHowItReads))
		c := s.Config(s.Database(t))
		c.Addr = address

		conn, err := mysqltest.Open(t, c).Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()

		for _, charset := range charsets(t, s) {
			if _, err := conn.ExecContext(t.Context(), "SET character_set_client = "+charset); err != nil {
				continue // nothing can be said in it
			}

			understood := 0
			for _, spelling := range spellings() {
				means, ok := columnCalled(t, conn, spelling)
				if !ok {
					continue // no name
				}

				read, err := readingOf(t, conn, charset, spelling)
				switch refused, _ := errors.AsType[*mysql.MySQLError](err); {
				case refused != nil && refused.Number == ddl.CodeUnknownError &&
					strings.Contains(refused.Message, "SET NAMES utf8mb4"):
				case err != nil:
					t.Errorf("%s, %x: %v", charset, spelling, err)
				case read != means:
					t.Errorf("%s, %x: read as %q, and the server means %q", charset, spelling, read, means)
				default:
					understood++
				}
			}

			if understood < 100 && charset != "swe7" {
				t.Errorf("%s: only %d names are understood", charset, understood)
			}
		}
	})
}

// saysHowItReads answers with what we make of a name, and makes sure that we can ask for it.
func saysHowItReads(_ context.Context, x *proxy.Exchange) error {
	charset, spelling, _ := strings.Cut(strings.TrimPrefix(string(x.Text()), "ours "), " ")
	q := &request{h: &Handler{}, session: &situation{schema: "s", mode: ddl.Mode{Charset: charset}}, x: x}
	st := ddl.Parse("TRUNCATE TABLE `"+spelling+"`", q.session.mode)[0]
	if err := q.agree(st); err != nil {
		return err
	}

	name := st.Action.(*ddl.TruncateTable).Table
	asked, err := q.spelledName(name)
	if err != nil {
		return err
	}

	r, err := x.Ask("SELECT 1 AS " + strings.TrimPrefix(asked, "`s`."))
	if err != nil {
		return err
	}
	if called := r.Columns[0].Name; called != name.Table {
		return fmt.Errorf("asked for %q, meant %q", called, name.Table)
	}

	_, err = x.Forward("SELECT " + literal(name.Table))
	return err
}

// spellings are names of every byte, alone and behind a letter, and of pairs from all corners of
// the sets of several bytes.
func spellings() (list []string) {
	for b := range 256 {
		if b == '`' || b == 0 {
			continue
		}
		list = append(list, "t"+string([]byte{byte(b)})+"t")
		for _, trail := range []byte{0x40, 0x5f, 0xa1, 0xfe} {
			if b >= 0x80 && b%2 == 1 {
				list = append(list, string([]byte{byte(b), trail}))
			}
		}
	}
	return append(list, "t\u00e4", "\u8868", "\U0001F600")
}

func charsets(t *testing.T, s *mysqltest.Server) (names []string) {
	t.Helper()
	rows, err := s.Open(t, "").QueryContext(t.Context(),
		"SELECT CHARACTER_SET_NAME FROM information_schema.CHARACTER_SETS")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()

	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}

	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}

	return names
}

func columnCalled(t *testing.T, conn *sql.Conn, spelling string) (name string, ok bool) {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), "SELECT 1 AS `"+spelling+"`")
	if err != nil {
		return "", false
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil || rows.Err() != nil {
		t.Fatal(err, rows.Err())
	}
	return names[0], true
}

func readingOf(t *testing.T, conn *sql.Conn, charset, spelling string) (name string, err error) {
	t.Helper()
	return name, conn.QueryRowContext(t.Context(), "ours "+charset+" "+spelling).Scan(&name)
}

// Where our reading of a set would be another one than the server's, another table got the policy.
func TestStatementsInOddCharacterSets(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE `a@b` (id INT PRIMARY KEY, created DATETIME)",
			"CREATE TABLE `t\u00e4` (id INT PRIMARY KEY, created DATETIME)")
		c := t.session(t.server.Config(t.schema))
		for charset, names := range map[string][]string{
			"swe7": {"`a@b`"}, "hp8": {"`t\xc3\xa4`"}, "geostd8": {"`t\xc3\xa4`"}, "keybcs2": {"`t\xc3\xa4`"},
			"macce": {"`t\xc3\xa4`"}, "utf8mb4": {"`t\xe4`"},
		} {
			for _, name := range names {
				for _, statement := range []string{
					"ALTER TABLE " + name + " TTL = created + INTERVAL 1 DAY",
					"PREPARE s FROM 'ALTER TABLE " + name + " TTL = created + INTERVAL 1 DAY'",
					"APPROVE TTL JOB FOR " + name,
				} {
					c.run("SET character_set_client = " + charset)
					err := c.try(statement)
					if e, ok := errors.AsType[*mysql.MySQLError](err); !ok || e.Number != ddl.CodeUnknownError ||
						!strings.Contains(e.Message, "SET NAMES utf8mb4") {
						t.Errorf("%s: %s: got %v", charset, statement, err)
					}
				}
			}
		}

		c.run("SET character_set_client = latin1", "ALTER\xa0TABLE `t\xe4`\xa0TTL\xa0= created + INTERVAL 10 HOUR")
		policies, err := t.store.Policies(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		other := func(p catalog.Policy) bool { return p.Table.Name != "t\u00e4" }
		if len(policies) != 1 || slices.ContainsFunc(policies, other) {
			t.Errorf("got policies %v", policies)
		}
	})
}
