package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// fromRoot reads a file by its path from the root of the project.
func fromRoot(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestComposeNamesWhatExists: variables and commands are the program's, mounted files are there,
// and what is asked for over the network is published by somebody. That it starts is seen by the
// workflow, which has Docker.
func TestComposeNamesWhatExists(t *testing.T) {
	compose, image := fromRoot(t, "docker-compose.yml"), fromRoot(t, "Dockerfile")
	serve := map[string]bool{}
	for _, o := range optionsOf("serve") {
		serve[o.variable()] = true
	}

	environment := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:ENV )?(TTLPROXY_[A-Z_]+)[:=] ?(.*)$`).FindAllStringSubmatch(compose+
		image, -1) {
		environment[m[1]] = strings.Trim(m[2], `"`)
		if !serve[m[1]] {
			t.Errorf("ttlproxy serve knows no %s", m[1])
		}
	}

	getenv := func(name string) (string, bool) { v, ok := environment[name]; return v, ok }
	if _, err := load(optionsOf("serve"), given{}, getenv); err != nil || len(environment) < 5 {
		t.Errorf("the environment of the proxies, %v: %v", environment, err)
	}

	for _, m := range regexp.MustCompile(`(?m)^\s*- \./([\w./-]+):/`).FindAllStringSubmatch(compose, -1) {
		fromRoot(t, m[1])
	}

	for _, m := range regexp.MustCompile(`/ttlproxy, ([a-z]+)\]`).FindAllStringSubmatch(compose, -1) {
		if find(m[1]) == nil {
			t.Errorf("a health check runs ttlproxy %s, which is no command", m[1])
		}
	}

	for _, m := range regexp.MustCompile(`([\w-]+):(\d+)`).FindAllStringSubmatch(fromRoot(t,
		"deploy/compose/prometheus.yml"), -1) {
		if !strings.Contains(compose, "\n  "+m[1]+":") || "0.0.0.0:"+m[2] != environment["TTLPROXY_STATUS"] {
			t.Errorf("Prometheus asks %s, which is no status page", m[0])
		}
	}
}

// TestComposeAccount: the account is what `ttlproxy init` prints for MySQL and schema app.
func TestComposeAccount(t *testing.T) {
	var got, want []string
	for line := range strings.Lines(fromRoot(t, "deploy/compose/accounts.sql")) {
		if statement := strings.TrimSpace(line); !strings.HasPrefix(statement, "--") {
			got = append(got, strings.TrimSuffix(statement, ";"))
		}
	}

	account := catalog.ServiceAccount{
		User: "ttlproxy", Password: "ttlproxy", Catalog: catalog.DefaultSchema,
		Schemas: []string{"app"},
	}
	for _, g := range account.Grants(false) {
		want = append(want, g.SQL)
	}

	if !slices.Equal(got, want) {
		t.Errorf("deploy/compose/accounts.sql is\n%s\nand init prints\n%s",
			strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestSystemdUnit: the command line in the unit is one that serve takes.
func TestSystemdUnit(t *testing.T) {
	unit := fromRoot(t, "deploy/systemd/ttlproxy.service")
	m := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/ttlproxy (\w+) (.*)$`).FindStringSubmatch(unit)
	if m == nil || find(m[1]) == nil {
		t.Fatalf("no command in %s", unit)
	}
	if _, _, _, err := parseFlags(optionsOf(m[1]), strings.Fields(m[2])); err != nil {
		t.Error(err)
	}

	for _, m := range regexp.MustCompile(`(?m)^Environment=(\w+)=`).FindAllStringSubmatch(unit, -1) {
		if !slices.ContainsFunc(optionsOf("serve"), func(o option) bool { return o.variable() == m[1] }) {
			t.Errorf("the unit sets %s, which serve does not know", m[1])
		}
	}
}
