package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// pages are all Markdown files of the project, by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	root := filepath.Join("..", "..")

	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != root):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}

		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return found
}

// Where pages show commands: in blocks of code, at the beginning of a line, behind a prompt or
// another command; in spans of code.
var (
	codeBlock    = regexp.MustCompile("(?ms)^ *```(?:sh|console)[^\n]*\n(.*?)^ *```")
	inBlock      = regexp.MustCompile(`(?m)(?:^ *(?:\$ )?|[|;] )ttlproxy ([a-z]+)([^|;\n]*)`)
	shownCommand = regexp.MustCompile("(?m)(?:`|^ {4})ttlproxy ([a-z]+)([^`|;\n]*)")
)

// commandsOn returns the commands on a page, each with its name and the rest of its line.
func commandsOn(text string) [][]string {
	all := shownCommand.FindAllStringSubmatch(text, -1)
	for _, block := range codeBlock.FindAllStringSubmatch(text, -1) {
		all = append(all, inBlock.FindAllStringSubmatch(block[1], -1)...)
	}
	return all
}

var longOption = regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]*)`)

// TestPagesNameCommandsThatExist: a command on a page exists, and takes the options it is shown
// with.
func TestPagesNameCommandsThatExist(t *testing.T) {
	seen := 0
	for page, text := range pages(t) {
		for _, m := range commandsOn(text) {
			seen++
			if find(m[1]) == nil {
				t.Errorf("%s: there is no command in %q", page, m[0])
				continue
			}

			for _, name := range longOption.FindAllStringSubmatch(m[2], -1) {
				if name[1] != "help" && !slices.ContainsFunc(optionsOf(m[1]),
					func(o option) bool { return o.name == name[1] }) {
					t.Errorf("%s: ttlproxy %s takes no --%s", page, m[1], name[1])
				}
			}
		}
	}

	if seen < 30 {
		t.Errorf("only %d commands found on all pages: the pattern does not fit them any more", seen)
	}
}

// foreign are options of other programs that pages mention.
var foreign = strings.Fields(`
	alter alter-foreign-keys-method bulk-delete check-interval column-type-info commands comments commit-each data-dir dest
	disable-ssl-verify-server-cert dry-run execute file get-server-public-key host limit max-lag no-check-charset
	no-drop-old-table port primary-key-only purge recursion-method run-time sentinel server-public-key-path
	skip-ssl sleep ssl-ca ssl-mode stop txn-size assume-master-host where`)

// TestPagesNameOptionsThatExist: an option in a span of code is ours, or known to be somebody
// else's. So is a variable.
func TestPagesNameOptionsThatExist(t *testing.T) {
	options, variables := map[string]bool{}, map[string]bool{}
	for _, o := range table() {
		options[o.name], variables[o.variable()] = true, true
	}

	for page, text := range pages(t) {
		for _, m := range regexp.MustCompile("`--([a-z][a-z-]*)").FindAllStringSubmatch(text, -1) {
			if !options[m[1]] && !slices.Contains(foreign, m[1]) {
				t.Errorf("%s names --%s, which is no option of ours", page, m[1])
			}
		}
		for _, name := range regexp.MustCompile(`\bTTLPROXY_[A-Z_]+[A-Z]`).FindAllString(text, -1) {
			if !variables[name] && !strings.HasPrefix(name, "TTLPROXY_TEST_") {
				t.Errorf("%s names %s, which is no variable of ours", page, name)
			}
		}
	}
}

var tomlBlock = regexp.MustCompile("(?ms)^```toml\n(.*?)^```")

// TestConfigurationOnPages: what a page shows of a configuration file can be read as one.
func TestConfigurationOnPages(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range tomlBlock.FindAllStringSubmatch(text, -1) {
			if _, err := loaded(t, m[1], nil); err != nil {
				t.Errorf("%s: %v in\n%s", page, err, m[1])
			}
		}
	}
}

// TestPagesNameSettingsThatExist: what looks like a setting is one.
func TestPagesNameSettingsThatExist(t *testing.T) {
	known := map[string]bool{}
	for _, s := range setting.All() {
		known[s.Name], known[s.Alias] = true, true
	}

	// TiDB's tables and metrics, and a constant of TiDB's, are no settings.
	others := regexp.MustCompile(`^(tidb_ttl_(table_status|task|job_history)|ttl_(query_duration|processed_expired_rows|job_status|task_status|phase_time|watermark_delay|insert_rows|event_count)|ttl_operator)$`)
	for page, text := range pages(t) {
		for _, name := range regexp.MustCompile(`\b(tidb_)?ttl_[a-z_]*[a-z]\b`).FindAllString(text, -1) {
			if !known[name] && !others.MatchString(name) && !isPart(name, known) {
				t.Errorf("%s names %s, which is no setting", page, name)
			}
		}
	}
}

// isPart is true for the beginning of a name, as in `SET GLOBAL ttl_…` or LIKE 'tidb_ttl_%'.
func isPart(name string, known map[string]bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(known)),
		func(k string) bool { return strings.HasPrefix(k, name+"_") })
}
