package integration

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
)

// TestDocumentation runs every block of SQL in the README and in docs, through the proxy, on both servers. The blocks of a
// page run in their order, in one database. The transcript in sql-admin.md has a test of its own, which compares the answers
// too: TestReferencePage. Words behind ```sql say how a block is to be run: root (by the administrator),
// mariadb or mysql (only there). A block that is not meant to be run, such as a grammar, is no ```sql.
func TestDocumentation(t *testing.T) {
	pages := markdown(t)
	mysqltest.Both(t, func(t *testing.T, server *mysqltest.Server) {
		for _, page := range pages {
			blocks := blocksOf(t, page, string(server.Flavour))
			if len(blocks) == 0 {
				continue
			}
			t.Run(filepath.Base(page), func(t *testing.T) {
				t.Parallel()
				runBlocks(t, server, blocks)
			})
		}
	})
}

// markdown lists the pages.
func markdown(t *testing.T) []string {
	t.Helper()
	pages := []string{filepath.Join("..", "README.md")}
	err := filepath.WalkDir(filepath.Join("..", "docs"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") && filepath.Base(path) != "sql-admin.md" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// block is the SQL between two fences.
type block struct {
	root       bool
	statements []string
}

var sqlBlock = regexp.MustCompile("(?ms)^```sql([^\n]*)\n(.*?)^```")

func blocksOf(t *testing.T, page, flavour string) []block {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	for _, m := range sqlBlock.FindAllStringSubmatch(string(text), -1) {
		words := strings.Fields(m[1])
		only := slices.Contains(words, "mariadb") || slices.Contains(words, "mysql")
		if only && !slices.Contains(words, flavour) {
			continue
		}
		blocks = append(blocks, block{root: slices.Contains(words, "root"), statements: statementsOf(m[2])})
	}
	return blocks
}

// statementsOf splits at a semicolon that ends a line, and drops what stands behind -- .
func statementsOf(text string) []string {
	text = regexp.MustCompile(`(?m)(^|\s)-- .*$`).ReplaceAllString(text, "")
	var statements []string
	for _, s := range regexp.MustCompile(`(?m);\s*$`).Split(text, -1) {
		if s = strings.TrimSpace(s); s != "" {
			statements = append(statements, s)
		}
	}
	return statements
}

func runBlocks(t *testing.T, server *mysqltest.Server, blocks []block) {
	t.Helper()
	s := &story{server: server, binary: program.Build(t)}
	vars := names()
	if err := s.populate(func(name string) string { return vars[name] }, func(name, value string) { vars[name] = value }); err != nil {
		t.Fatal(err)
	}
	var env []string
	for _, name := range engineVariables {
		env = append(env, name+"="+vars[name])
	}
	p := program.Start(t, program.Config{Env: env})
	for _, b := range blocks {
		f := flags{user: vars["APP"], db: vars["DB"], at: p.Addr}
		if b.root {
			f.user = "root"
		}
		if _, err := query(context.Background(), s.client(f), b.statements); err != nil {
			t.Error(err)
		}
	}
}
