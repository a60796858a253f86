package ddl

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzParse holds what Parse promises for every text in every mode: without a clause the bytes are
// the same, what is forwarded never holds a clause, and all places lie inside the text.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}

		for _, in := range txtar.Parse(data).Files {
			if strings.HasPrefix(in.Name, "in") {
				f.Add(string(in.Data), byte(0))
			}
		}
	}

	for _, text := range []string{
		"/*!99999 DROP TABLE a */ ALTER TABLE t TTL_ENABLE='OFF'", "/*!99999 a; b */; DROP TABLE t",
		"ALTER TABLE t /*T![ttl] TTL_ENABLE='OFF'",
		"/*!50000 DROP TABLE a; DROP TABLE b */; DROP TABLE c", "/*!1000001 DROP TABLE a */",
		"/*!100000 DROP TABLE a */; DROP TABLE b",
		"/*!", "PREPARE s FROM @a /*!", "CREATE TABLE a (a INT COMMENT",
		"/*! DROP TABLE a /*! , b */ , c */*!99999 d; DROP TABLE e */",
		"/*!99999 x */ BEGIN NOT ATOMIC DROP TABLE a; DROP TABLE b; END", "--#0", "SELECT 1 --/**/; DROP TABLE t",
	} {
		for settings := range byte(8) {
			f.Add(text, settings)
		}
	}

	f.Fuzz(func(t *testing.T, text string, settings byte) {
		mode := fuzzMode(settings)
		statements := Parse(text, mode)
		seesWhatRuns(t, statements, text, mode)

		for _, st := range statements {
			if st.start < 0 || st.end > len(text) || st.start > st.end {
				t.Fatalf("statement at %d:%d of %d bytes", st.start, st.end, len(text))
			}

			if st.Err != nil {
				if st.Changed() {
					t.Fatalf("%q is refused and cut", text)
				}
				continue
			}

			at := st.start
			for _, c := range st.cuts {
				if c.start < at || c.end < c.start || c.end > st.end {
					t.Fatalf("cut %d:%d behind %d in %q", c.start, c.end, at, text)
				}
				at = c.end
			}

			forwarded := st.Forward()
			keepsComments(t, st, forwarded, mode)
			if !st.Changed() && forwarded != text[st.start:st.end] {
				t.Fatalf("unchanged %q became %q", text[st.start:st.end], forwarded)
			}
			if st.Clause() == nil || !balanced(forwarded, mode) {
				continue
			}

			for _, again := range Parse(forwarded, mode) {
				if c := again.Clause(); c != nil || again.Err != nil {
					t.Fatalf("%q still holds a clause: %q, %v", text, forwarded, again.Err)
				}
			}
		}
	})
}

// seesWhatRuns holds that whatever the server sees of a packet belongs to exactly one statement.
func seesWhatRuns(t *testing.T, statements []*Statement, text string, mode Mode) {
	at := 0
	for _, token := range lex(text, mode).tokens {
		for at < len(statements) && statements[at].end <= token.start {
			at++
		}

		if at+1 < len(statements) && statements[at+1].start < statements[at].end {
			t.Fatalf("two statements of %q overlap", text)
		}

		inside := at < len(statements) && statements[at].start <= token.start && token.end <= statements[at].end
		if !inside && !token.hidden && token.end > token.start && text[token.start:token.end] != ";" {
			t.Fatalf("the server sees %q of %q, and no statement has it", text[token.start:token.end], text)
		}
	}
}

// balanced reports that every parenthesis is closed: else what belongs to a definition depends on what comes before,
// and no server runs it.
func balanced(text string, mode Mode) bool {
	open, all := 0, lex(text, mode)
	for _, token := range all.tokens {
		switch all.spelling(token) {
		case "(":
			open++
		case ")":
			open--
		}
		if open < 0 {
			return false
		}
	}
	return open == 0
}

// keepsComments holds that the server, when it is given a statement alone, sees of it what it would
// see in the packet but for what is cut out: nothing leaves a comment that it skips, and nothing
// gets into one.
func keepsComments(t *testing.T, st *Statement, forwarded string, mode Mode) {
	var want, got []string
	for _, token := range st.source.tokens {
		cut := token.end > token.start && // that a comment does not end is a token without length
			slices.ContainsFunc(st.cuts, func(c cut) bool { return c.start <= token.start && token.end <= c.end })
		if !token.hidden && !cut && st.start <= token.start && token.end <= st.end {
			want = append(want, st.source.spelling(token))
		}
	}

	for _, c := range st.cuts {
		if c.replacement != "" {
			return // the text of a PREPARE
		}
	}

	if strings.HasSuffix(forwarded, "--") && !st.Changed() {
		return // two minus signs begin a comment where nothing follows; nothing that a server can run ends with them
	}

	alone := lex(forwarded, mode)
	for _, token := range alone.tokens {
		if !token.hidden {
			got = append(got, alone.spelling(token))
		}
	}

	if !slices.Equal(got, want) {
		t.Fatalf("%q of %q shows the server %q, want %q", forwarded, st.source.text, got, want)
	}
}

func fuzzMode(settings byte) Mode {
	return Mode{
		ANSIQuotes:         settings&1 != 0,
		NoBackslashEscapes: settings&2 != 0,
		MariaDB:            settings&4 != 0,
		Version:            []int{90704, 101119}[settings>>2&1],
		Charset:            []string{"utf8mb4", "gbk", "sjis", "big5"}[settings>>3&3],
	}
}

// FuzzCandidate holds that whatever Parse finds something in is a candidate.
func FuzzCandidate(f *testing.F) {
	f.Add("SELECT 1; /*!50000 ALTER TABLE t FORCE */")
	f.Add("/*T![ttl] x */ -- y\nDROP TABLE t")
	f.Add("SHOW/**/ttl jobs; EXPLAIN/*!99999 */TTL t")
	f.Add("SET STATEMENT a=(SELECT 'FOR') FOR(SHOW WARNINGS)")
	f.Add("SET/*M! STATEMENT a=1 FOR*/ DROP TABLE t")
	f.Fuzz(func(t *testing.T, text string) {
		for _, mode := range []Mode{{}, {MariaDB: true}} {
			for _, st := range Parse(text, mode) {
				if st.Action != nil && !Candidate([]byte(text)) {
					t.Fatalf("%q is no candidate but means %T", text, st.Action)
				}
			}
		}
	})
}
