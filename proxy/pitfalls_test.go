package proxy

import (
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The table of pitfalls in the documentation names tests that exist, for all 45.
func TestEachPitfallHasATest(t *testing.T) {
	t.Parallel()
	tests := testsIn(t, "..")
	page, err := os.ReadFile("../docs/reference/wire.md")
	if err != nil {
		t.Fatal(err)
	}

	rows := regexp.MustCompile(`(?m)^\| (\d+) \|.*\| ([^|]+) \|$`).FindAllStringSubmatch(string(page), -1)
	for i, row := range rows {
		if n, _ := strconv.Atoi(row[1]); n != i+1 {
			t.Errorf("got pitfall %d in line %d", n, i+1)
		}
		for name := range strings.SplitSeq(row[2], ", ") {
			if !tests[name] {
				t.Errorf("pitfall %s: there is no test %s", row[1], name)
			}
		}
	}

	if len(rows) != 45 {
		t.Errorf("got %d pitfalls, want 45", len(rows))
	}
}

// testsIn collects the names of all tests below a folder.
func testsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	tests := make(map[string]bool)
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}

		b, err := fs.ReadFile(os.DirFS(dir), path)
		for _, m := range function.FindAllSubmatch(b, -1) {
			tests[string(m[1])] = true
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return tests
}
