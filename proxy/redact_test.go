package proxy

import (
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"SELECT 1", "SELECT ?"},
		{
			"SELECT *\n\tFROM t1 WHERE a = 'x' AND b2 IN (1, -2.5e-3, .5, 0xFF)",
			"SELECT * FROM t1 WHERE a = ? AND b2 IN (?, -?, ?, ?)",
		},
		{
			`INSERT INTO t VALUES ('it''s', "say \"x\"", 'back\\', X'41', _utf8mb4'ü')`,
			"INSERT INTO t VALUES (?, ?, ?, X?, _utf8mb4?)",
		},
		{"SELECT `a 1`, `b``2` FROM `d`.`t`", "SELECT `a 1`, `b``2` FROM `d`.`t`"},
		{"/* secret */ SELECT /*+ HINT(t1) */ 1 -- secret\n, 2 # secret", "SELECT ?, ?"},
		{"SELECT /*!50000 STRAIGHT_JOIN */ 5", "SELECT STRAIGHT_JOIN ?"},
		{"SELECT 'open", "SELECT ?"},
		{"SELECT /* open", "SELECT"},
		{"SELECT @a1, @@b2, t1.c1, c1-1", "SELECT @a1, @@b2, t1.c1, c1-?"},
		{"SELECT '\xbf\\', 'secret'", "SELECT ?…"}, // in gbk the backslash is half of a letter
		{"SELECT " + strings.Repeat("x", 200), "SELECT " + strings.Repeat("x", 57) + "…"},
		{"SELECT `open", "SELECT"},
	} {
		if got := redact([]byte(c.in), false, 64); got != c.want && strings.ReplaceAll(got, " ,", ",") != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}

	if got, want := redact([]byte(`SELECT 'a\', 1, 'b'`), true, 64), "SELECT ?, ?, ?"; got != want {
		t.Errorf("without backslashes: got %q, want %q", got, want)
	}
}

// No value comes out, wherever it stands and whatever surrounds it.
func FuzzRedact(f *testing.F) {
	f.Add("SELECT ", "plain", " FROM t")
	f.Add("SELECT 'a', `b`, /* c */ ", `it's \ "`, " -- x")
	f.Fuzz(func(t *testing.T, before, value, after string) {
		const mark = "SECRET1"
		if strings.Contains(before+after, mark) || len(before) > 500 {
			return
		}

		// Only what comes to its end by itself can be followed by a value.
		r := redactor{in: []byte(before + " "), out: []byte{}}
		for len(r.in) > 0 {
			rest := len(r.in)
			r.step()
			if len(r.in) == 0 && rest > 1 {
				return
			}
		}

		quoted := strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(value) + mark
		if got := redact([]byte(before+" '"+quoted+"' "+after), false, 2000); strings.Contains(got, mark) {
			t.Fatalf("got %q", got)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	sql := []byte("SELECT a, b FROM t WHERE id = 12345 AND name = 'somebody'")
	b.ReportAllocs()
	for b.Loop() {
		redact(sql, false, 1024)
	}
}
