package clients

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPageSaysWhenClientsAreTested: the page on compatibility claims what is so. Which clients are
// run on every change depends on what is installed where that happens; the others take the nightly
// run, which installs them all.
func TestPageSaysWhenClientsAreTested(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}

	rows := regexp.MustCompile(`(?m)^\| .*$`).FindAllString(string(page), -1)
	for _, c := range clients {
		want := "every night"
		if c.always {
			want = "on every change"
		}

		found := false
		for _, row := range rows {
			if strings.Contains(row, "`"+c.name+"`") {
				found = true
				if !strings.Contains(row, "| "+want) {
					t.Errorf("%s is tested %s, and the page says %s", c.name, want, row)
				}
			}
		}

		if !found {
			t.Errorf("the page has no row for %s", c.name)
		}
	}

	nightly, err := os.ReadFile(filepath.Join("..", "..", ".github", "workflows", "nightly.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`target: \[.*\bclients\b`).Match(nightly) {
		t.Error("the nightly run leaves the clients out")
	}
}
