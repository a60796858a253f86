package ddl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzParse holds what Parse promises for every text in every mode: without a clause the bytes are the same, what is
// forwarded never holds a clause, and all places lie inside the text.
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
	f.Fuzz(func(t *testing.T, text string, settings byte) {
		mode := fuzzMode(settings)
		for _, st := range Parse(text, mode) {
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
			if !st.Changed() && forwarded != text[st.start:st.end] {
				t.Fatalf("unchanged %q became %q", text[st.start:st.end], forwarded)
			}
			if st.Clause() == nil {
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

func fuzzMode(settings byte) Mode {
	return Mode{
		ANSIQuotes:         settings&1 != 0,
		NoBackslashEscapes: settings&2 != 0,
		MariaDB:            settings&4 != 0,
		Version:            90704,
		Charset:            []string{"utf8mb4", "gbk", "sjis", "big5"}[settings>>3&3],
	}
}

// FuzzCandidate holds that whatever Parse finds something in is a candidate.
func FuzzCandidate(f *testing.F) {
	f.Add("SELECT 1; /*!50000 ALTER TABLE t FORCE */")
	f.Add("/*T![ttl] x */ -- y\nDROP TABLE t")
	f.Fuzz(func(t *testing.T, text string) {
		for _, st := range Parse(text, Mode{}) {
			if st.Action != nil && !Candidate([]byte(text)) {
				t.Fatalf("%q is no candidate but means %T", text, st.Action)
			}
		}
	})
}
