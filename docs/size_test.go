package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a package may have without saying why.
const (
	mostFiles = 45
	mostNames = 60
)

// TestSizeHasAReason: a package that is larger than others says in its doc.go, under "Size", why it
// stays one. Programs have no readers of their names.
func TestSizeHasAReason(t *testing.T) {
	t.Parallel()
	for dir, files := range packages(t) {
		names := 0
		for _, file := range files {
			names += exported(file)
		}

		doc, _ := os.ReadFile(filepath.Join(dir, "doc.go"))
		large := len(files) > mostFiles || names > mostNames
		if large && !strings.Contains(string(doc), "\n// # Size\n") {
			t.Errorf("%s has %d files and %d exported names, and doc.go does not say why", dir, len(files), names)
		}
	}
}

// packages are the source files of every package but the programs, by folder.
func packages(t *testing.T) map[string][]*ast.File {
	t.Helper()
	all := map[string][]*ast.File{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() != ".." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}

		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil && file.Name.Name != "main" {
			all[filepath.Dir(path)] = append(all[filepath.Dir(path)], file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// exported counts the names of a file that other packages see; methods belong to their types.
func exported(file *ast.File) (names int) {
	count := func(name *ast.Ident) {
		if name.IsExported() {
			names++
		}
	}

	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					count(s.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						count(name)
					}
				}
			}
		}
	}

	return names
}
