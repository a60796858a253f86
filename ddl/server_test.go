package ddl

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestServersAgreeOnStrings writes random string literals in every mode and character set that
// changes how they are read, and compares where they end, and what they say, with the server's
// answer.
func TestServersAgreeOnStrings(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		for _, charset := range []string{
			"utf8mb4", "latin1", "gbk", "sjis", "big5", "cp932", "gb18030", "gb2312", "euckr",
			"ujis", "eucjpms", "cp1251", "tis620",
		} {
			for _, sqlMode := range []string{"", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES"} {
				if s.MariaDB() && charset == "gb18030" {
					continue
				}

				mode := Mode{
					Charset: charset, MariaDB: s.MariaDB(),
					NoBackslashEscapes: sqlMode == "NO_BACKSLASH_ESCAPES", ANSIQuotes: sqlMode == "ANSI_QUOTES",
				}
				c := session(t, s, "SET NAMES "+charset, "SET sql_mode='"+sqlMode+"'")
				random := rand.New(rand.NewPCG(1, 2))
				for range 100 {
					sameString(t, c, mode, "'"+soup(random, stringPieces, 1+random.IntN(8))+"'")
				}
			}
		}
	})
}

// stringPieces are what a reader of strings may stumble over; the last ones are characters whose
// second byte is a backslash or a back quote in GBK, Shift-JIS or Big5.
var stringPieces = []string{
	"a", "'", "''", `\`, `\\`, `\'`, `"`, "`", "n", "%", "\n", " ", "/*", "-- ", "\xd5\x5c",
	"\x95\x5c", "\xa5\x5c", "\x81\x60", "\xb1", "\x95",
}

func soup(random *rand.Rand, pieces []string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(pieces[random.IntN(len(pieces))])
	}
	return b.String()
}

// sameString compares one literal. Bytes that are no characters of the set at all are the server's
// own affair.
func sameString(t *testing.T, c *sql.Conn, mode Mode, literal string) {
	t.Helper()
	query := "SELECT HEX(" + literal + ")"
	src := lex(query, mode)
	ours := len(src.tokens) == 5 && src.tokens[3].kind == text && src.is(src.tokens[4], ')') &&
		closed(src.spelling(src.tokens[3]))
	var got string
	err := c.QueryRowContext(t.Context(), query).Scan(&got)
	var refused *mysql.MySQLError

	switch {
	case errors.As(err, &refused) && refused.Number != 1064:
		return // invalid characters
	case (err == nil) != ours:
		t.Errorf("%s %+v: the server says %v, we read %d tokens",
			hex.EncodeToString([]byte(literal)), mode, err, len(src.tokens))
	case ours:
		r := &reader{source: src}
		if want := strings.ToUpper(hex.EncodeToString([]byte(r.unquote(src.spelling(src.tokens[3]))))); got != want {
			t.Errorf("%s %+v: the server reads %s, we read %s", hex.EncodeToString([]byte(literal)), mode, got, want)
		}
	}
}

// closed reports whether a literal ends in its quote.
func closed(literal string) bool {
	return len(literal) >= 2 && literal[0] == literal[len(literal)-1]
}

// TestServersAgreeOnComments compares what is a comment, and which executable ones are run.
func TestServersAgreeOnComments(t *testing.T) {
	t.Parallel()
	pieces := []string{
		" ", "\n", "/*", "*/", "/*!", "/*!50000", "/*!50701", "/*!80000", "/*!100000", "/*!999999", "/*!99999", "/*M!",
		"/*M!100000", "/*T!",
		"/*T![ttl]", "-- ", "--", "#", "+1", "+2", "'", "*", "/", "/**/",
	}
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		c := session(t, s)
		var version string
		if err := c.QueryRowContext(t.Context(), "SELECT VERSION()").Scan(&version); err != nil {
			t.Fatal(err)
		}

		mode := Mode{MariaDB: s.MariaDB(), Version: versionOf(version), Charset: "utf8mb4"}
		random := rand.New(rand.NewPCG(3, 4))
		agreed := 0
		for range 4000 {
			query := "SELECT 1" + soup(random, pieces, 1+random.IntN(7))
			got, err := answer(t, c, query)
			if err != nil {
				continue // unfinished, or no expression
			}
			if want, err := answer(t, c, visible(query, mode)); err != nil || want != got {
				t.Errorf("%q: the server answers %q, and to what we see of it, %q, %q, %v",
					query, got, visible(query, mode), want, err)
			}

			agreed++
		}

		if agreed < 300 {
			t.Errorf("only %d texts were expressions: the test tests nothing", agreed)
		}
	})
}

func versionOf(text string) int {
	var major, minor, patch int
	fmt.Sscanf(text, "%d.%d.%d", &major, &minor, &patch)
	return major*10000 + minor*100 + patch
}

// answer returns the only value of a result.
func answer(t *testing.T, c *sql.Conn, query string) (string, error) {
	var v sql.Null[string]
	err := c.QueryRowContext(t.Context(), query).Scan(&v)
	return v.V, err
}

// visible is what the server sees of a text as we read it, with a blank between tokens.
func visible(query string, mode Mode) string {
	src := lex(query, mode)
	var words []string
	for _, t := range src.tokens {
		if !t.hidden {
			words = append(words, src.spelling(t))
		}
	}
	return strings.Join(words, " ")
}

// TestServersAcceptWhatIsLeft puts clauses at random places into statements and sends what is left
// of them to the server: it must say what it says of the same statement without a clause.
func TestServersAcceptWhatIsLeft(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		c := session(t, s, "USE "+s.Database(t))
		random := rand.New(rand.NewPCG(5, 6))
		mode := Mode{MariaDB: s.MariaDB(), Charset: "utf8mb4"}
		accepted := 0

		for n := range 50 {
			table := fmt.Sprintf("t%d", n)
			accepted += sameOutcome(t, c, mode, random, "CREATE TABLE "+table+" (id INT PRIMARY KEY, c DATETIME) ",
				createOptions, table)
			for range 3 {
				accepted += sameOutcome(t, c, mode, random, "ALTER TABLE "+table+" ", alterSpecs, table)
			}
			attempt(t, c, "DROP TABLE IF EXISTS "+table)
		}

		if accepted < 60 {
			t.Errorf("the server accepted only %d statements: the test tests nothing", accepted)
		}
	})
}

var (
	createOptions = []string{
		"ENGINE=InnoDB", "COMMENT='TTL=x + INTERVAL 1 DAY'", "DEFAULT CHARSET utf8mb4",
		"ROW_FORMAT=DYNAMIC", "AVG_ROW_LENGTH 10",
	}
	alterSpecs = []string{
		"COMMENT 'a, b'", "ADD COLUMN ttl INT", "DROP COLUMN ttl", "ADD INDEX ttl_enable (c)", "DROP INDEX ttl_enable",
		"ENGINE=InnoDB",
		"ALTER COLUMN c SET DEFAULT NULL", "MODIFY c DATETIME(3)", "FORCE", "COMMENT='x' ROW_FORMAT=DYNAMIC",
	}
	clauses = []string{
		"TTL = c + INTERVAL 1 DAY", "ttl=`c`+interval '1:30' hour_minute", "TTL_ENABLE='OFF'", "TTL_JOB_INTERVAL '1h'",
		"TTL_TIME_ZONE='UTC'",
		"/*T![ttl] TTL=c + INTERVAL 3 MONTH */", "/*! TTL_ENABLE = 'on' */",
		"/*T! TTL_JOB_INTERVAL='1h' TTL_ENABLE='ON' */",
	}
)

// sameOutcome runs a random statement with clauses and the same one without, and returns 1 if the
// server took it.
func sameOutcome(t *testing.T, c *sql.Conn, mode Mode, random *rand.Rand, head string, native []string,
	table string,
) int {
	t.Helper()
	create := strings.HasPrefix(head, "CREATE")
	var with, without []string
	for range random.IntN(3) {
		piece := native[random.IntN(len(native))]
		with, without = append(with, piece), append(without, piece)
	}

	for range 1 + random.IntN(2) {
		at := random.IntN(len(with) + 1)
		with = append(with[:at:at], append([]string{clauses[random.IntN(len(clauses))]}, with[at:]...)...)
	}

	separator := ", "
	if create && random.IntN(2) == 0 {
		separator = " "
	}

	text := head + join(with, separator)
	parts := Parse(text, mode)
	if len(parts) != 1 || parts[0].Err != nil || parts[0].Clause() == nil {
		t.Fatalf("%s: got %d statements, %v", text, len(parts), parts[0].Err)
	}

	left := parts[0].Forward()
	if create {
		first := attempt(t, c, left)
		attempt(t, c, "DROP TABLE IF EXISTS "+table)
		return compare(t, text, left, first, attempt(t, c, head+strings.Join(without, separator)))
	}

	attempt(t, c, "CREATE TABLE copy LIKE "+table)
	want := attempt(t, c, strings.Replace(head, table, "copy", 1)+strings.Join(without, separator))
	attempt(t, c, "DROP TABLE IF EXISTS copy")
	return compare(t, text, left, attempt(t, c, left), want)
}

// join puts separators between the pieces that the server sees.
func join(pieces []string, separator string) string {
	var b strings.Builder
	seen := false
	for _, piece := range pieces {
		hidden := strings.HasPrefix(piece, "/*T")
		if seen && !hidden {
			b.WriteString(separator)
		} else {
			b.WriteByte(' ')
		}

		b.WriteString(piece)
		seen = seen || !hidden
	}

	return b.String()
}

func compare(t *testing.T, text, left string, got, want uint16) int {
	t.Helper()
	if got != want {
		t.Errorf("%s\nleft: %s\ngot error %d, want %d", text, left, got, want)
	}
	if got == 0 {
		return 1
	}
	return 0
}

// attempt executes a statement and returns the number of its error.
func attempt(t *testing.T, c *sql.Conn, statement string) uint16 {
	t.Helper()
	_, err := c.ExecContext(t.Context(), statement)
	var refused *mysql.MySQLError
	if err != nil && !errors.As(err, &refused) {
		t.Fatal(err)
	}
	if refused != nil {
		return refused.Number
	}
	return 0
}

// session opens one connection and sets it up.
func session(t *testing.T, s *mysqltest.Server, setup ...string) *sql.Conn {
	t.Helper()
	c, err := s.Open(t, "").Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	for _, statement := range setup {
		if _, err := c.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// A no-break space separates words in the character sets in which it does for the server, and
// nowhere else.
func TestServersAgreeOnBlanks(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		for _, charset := range []string{
			"latin1", "latin2", "latin5", "latin7", "greek", "hebrew", "cp1250", "cp1251", "cp1256", "cp1257", "cp850",
			"cp852", "cp866", "koi8r", "koi8u", "macroman", "macce", "armscii8", "ascii", "dec8", "hp8", "swe7",
			"geostd8", "keybcs2", "tis620", "gbk", "gb2312", "big5", "sjis", "cp932", "ujis", "eucjpms", "euckr",
			"utf8mb3", "utf8mb4",
		} {
			c, mode := session(t, s, "SET NAMES "+charset), Mode{Charset: charset, MariaDB: s.MariaDB()}
			for _, b := range []byte{' ', '\v', 0x85, noBreak, 0xAD, noBreakDOS} {
				var got string
				err := c.QueryRowContext(t.Context(), "SELECT"+string([]byte{b})+"42").Scan(&got)
				if blank := err == nil && got == "42"; blank != mode.blank(b) {
					t.Errorf("%s: byte %02X separates words for the server: %v (%v)", charset, b, blank, err)
				}
			}
		}
	})
}
