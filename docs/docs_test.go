// Package docs tests the documents: what they point at has to be there.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages are all Markdown files of the project.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != "..") {
			return filepath.SkipDir
		}

		if filepath.Ext(path) == ".md" {
			text, err := os.ReadFile(path)
			found[path] = string(text)
			return err
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return found
}

var (
	link     = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	fenced   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAny = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors are those that GitHub gives to the headings of a page.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		name := notInAny.ReplaceAllString(strings.ToLower(m[1]), "")
		found["#"+strings.ReplaceAll(name, " ", "-")] = true
	}
	return found
}

// TestLinksLeadSomewhere: to a file that is there, and to a heading that is in it.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}

			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), m[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s points at %s: %v", page, m[1], err)
			}
			if m[2] != "" && !anchors(all[target])[m[2]] {
				t.Errorf("%s points at %s, where no heading is %s", page, target, m[2])
			}
		}
	}
}

// TestEveryPageIsInTheIndex: nobody finds a page that docs/README.md does not name.
func TestEveryPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for page := range pages(t) {
		name, inDocs := strings.CutPrefix(page, "../docs/")
		if inDocs && name != "README.md" && !strings.Contains(string(index), "("+name+")") {
			t.Errorf("docs/README.md does not name %s", name)
		}
	}
}

// madeTarget is a make target, where a page or a workflow says to make it.
var madeTarget = regexp.MustCompile("(?m)(?:`|^|run: |[;|] )make ([a-z][a-z0-9-]+)")

// TestNamedTargetsExist: a page that says make something must not outlive the target.
func TestNamedTargetsExist(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}

	workflows, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil {
		t.Fatal(err)
	}

	texts := pages(t)
	for _, path := range workflows {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}

	for page, text := range texts {
		for _, m := range madeTarget.FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`(?m)^` + m[1] + `:`).Match(makefile) {
				t.Errorf("%s says make %s, which is no target", page, m[1])
			}
		}
	}
}

// TestNamedFilesExist: a path in a span of code leads to a file, from the root of the project.
func TestNamedFilesExist(t *testing.T) {
	t.Parallel()
	path := regexp.MustCompile("`((?:bench|catalog|cmd|ddl|deploy|docs|integration|proxy|sandbox|scripts|status|ttl)/[\\w./-]*)`")
	for page, text := range pages(t) {
		for _, m := range path.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("%s names %s: %v", page, m[1], err)
			}
		}
	}
}

var (
	testName = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w+)`")
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w+)\(`)
)

// TestNamedTestsExist: a page that says which test guards a rule must not outlive the test.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}

		text, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	for page, text := range pages(t) {
		for _, m := range testName.FindAllStringSubmatch(text, -1) {
			if !tests[m[1]] {
				t.Errorf("%s names %s, which is no test", page, m[1])
			}
		}
	}
}

// TestACopiedPasswordWantsARestart: systemd copies a credential when the service starts, so the pages that say how a
// password is changed name the restart.
func TestACopiedPasswordWantsARestart(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile("../deploy/systemd/ttlproxy.service")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(unit), "\nLoadCredential=engine-password:") {
		t.Fatal("the unit does not copy the password any more: say on both pages that no restart is needed")
	}

	all := pages(t)
	for page, about := range map[string]string{
		"../docs/how-to/production.md": "To change the password", "../docs/how-to/systemd.md": "change the engine's password",
	} {
		_, text, found := strings.Cut(all[page], about)
		text, _, _ = strings.Cut(text, "\n\n")
		if !found || !strings.Contains(text, "`systemctl restart ttlproxy`") {
			t.Errorf("%s: got no restart behind %q, which systemd needs", page, about)
		}
	}
}
