package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// recognized has the numbers that only servers answer with.
const recognized = "code_server.go"

// TestErrorsArePage: docs/reference/errors.md has the numbers of errors that the code raises, and
// no others.
func TestErrorsArePage(t *testing.T) {
	t.Parallel()
	raised := map[int]bool{}
	for _, dir := range []string{"ddl", "proxy", "catalog"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") &&
				filepath.Base(path) != recognized {
				collectCodes(t, path, raised)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	page, err := os.ReadFile("reference/errors.md")
	if err != nil {
		t.Fatal(err)
	}

	listed := map[int]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d{4}) \|`).FindAllStringSubmatch(string(page), -1) {
		number, _ := strconv.Atoi(m[1])
		listed[number] = true
	}

	for number := range raised {
		if !listed[number] {
			t.Errorf("errors.md does not list %d", number)
		}
	}

	for number := range raised {
		if number >= 2000 && number <= 2999 {
			t.Errorf("%d is raised: numbers from 2000 to 2999 are the clients' own, and libmariadb calls them a "+
				"broken packet", number)
		}
	}

	for number := range listed {
		if !raised[number] {
			t.Errorf("errors.md lists %d, which the code does not raise", number)
		}
	}
}

// collectCodes finds constants that are called code…, and numbers given to a field Code.
func collectCodes(t *testing.T, path string, into map[int]bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}

	add := func(value ast.Expr) {
		if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.INT {
			if number, err := strconv.Atoi(literal.Value); err == nil {
				into[number] = true
			}
		}
	}

	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if strings.HasPrefix(strings.ToLower(name.Name), "code") && i < len(n.Values) {
					add(n.Values[i])
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
				add(n.Value)
			}
		}
		return true
	})
}
