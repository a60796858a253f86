package docs

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is what the paths of our packages begin with.
const module = "github.com/ttlproxy/ttlproxy/"

// TestMapShowsAllArrows: the table of ARCHITECTURE.md says what each package imports of ours.
func TestMapShowsAllArrows(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}

	_, table, _ := strings.Cut(string(page), "\n| package | imports of ours |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	shown := map[string][]string{}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		for _, from := range quoted(cells[1]) {
			shown[from] = quoted(cells[2])
		}
	}

	for dir, files := range packages(t) {
		dir = strings.TrimPrefix(dir, "../")
		var imports []string
		for _, file := range files {
			for _, i := range file.Imports {
				if path, _ := strconv.Unquote(i.Path.Value); strings.HasPrefix(path, module) {
					imports = append(imports, strings.TrimPrefix(path, module))
				}
			}
		}

		slices.Sort(imports)
		imports = slices.Compact(imports)
		if drawn, there := shown[dir]; !strings.HasPrefix(dir, "integration") && !strings.HasSuffix(dir, "test") &&
			(!there || !slices.Equal(drawn, imports)) {
			t.Errorf("the table says that %s imports %q, and it imports %q", dir, drawn, imports)
		}
		delete(shown, dir)
	}

	for dir := range shown {
		t.Errorf("the table lists %s, which is not there", dir)
	}
}

// quoted are the words in back quotes.
func quoted(cell string) (words []string) {
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		words = append(words, m[1])
	}
	return words
}
