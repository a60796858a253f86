package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// place is a file that ARCHITECTURE.md points at, with a name that is declared in it.
var place = regexp.MustCompile("`([a-z_/]+\\.go)` `(\\w+)`")

// TestWhereToLook: the table of ARCHITECTURE.md answers where something is decided with files and
// names. Whoever moves one of them moves the answer.
func TestWhereToLook(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}

	_, table, _ := strings.Cut(string(page), "\n## Where to look\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var questions int
	for row := range strings.Lines(table) {
		if !strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "| where is") {
			continue
		}

		questions++
		found := place.FindAllStringSubmatch(row, -1)
		if len(found) == 0 {
			t.Errorf("no file and name in %s", row)
		}
		for _, m := range found {
			if !slices.Contains(declared(t, m[1]), m[2]) {
				t.Errorf("%s does not declare %s", m[1], m[2])
			}
		}
	}

	if questions < 10 {
		t.Errorf("the table answers %d questions, want 10 or more", questions)
	}
}

// declared lists the functions, methods and types of a file; none if it is not there.
func declared(t *testing.T, path string) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", path), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return nil
	}

	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					names = append(names, s.Name.Name)
				}
			}
		}
	}

	return names
}
