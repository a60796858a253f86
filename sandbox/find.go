package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Flavour is a family of servers.
type Flavour string

// The flavours a sandbox can run.
const (
	MariaDB Flavour = "mariadb"
	MySQL   Flavour = "mysql"
)

// ErrNotInstalled is what [Find] and [Start] return when this machine has no such server.
var ErrNotInstalled = errors.New("no server program found")

// Program is a server binary found on this machine.
type Program struct {
	Flavour Flavour
	Version string // as printed by the program, such as 10.11.19-MariaDB
	Path    string
}

// Kind says what is running.
func (p Program) Kind() Program { return p }

// String is what people call it: MariaDB 10.11.
func (p Program) String() string {
	name := map[Flavour]string{MariaDB: "MariaDB", MySQL: "MySQL"}[p.Flavour]
	number, _, _ := strings.Cut(p.Version, "-")
	return strings.TrimSpace(name + " " + number)
}

// Find returns the installed server of a flavour; the empty flavour means any, MariaDB first.
func Find(ctx context.Context, want Flavour) (Program, error) {
	for _, path := range candidates(want) {
		p, err := identify(ctx, path)
		if err == nil && (want == "" || want == p.Flavour) {
			return p, nil
		}
	}
	return Program{}, fmt.Errorf("%w: %s", ErrNotInstalled, advice(want))
}

func advice(want Flavour) string {
	switch want {
	case MariaDB:
		return "install MariaDB (on Debian: apt-get install mariadb-server-core)"
	case MySQL:
		return "install MySQL (in a checkout, scripts/get-mysql.sh fetches one into your cache folder), or Docker"
	default:
		return "install MariaDB or MySQL (on Debian: apt-get install mariadb-server-core), or Docker"
	}
}

// candidates lists where servers live. Distributions keep them outside the PATH of ordinary users;
// mysqld is a link to mariadbd on machines with MariaDB, so its name alone says nothing.
func candidates(want Flavour) []string {
	names := []string{"mariadbd", "mysqld"}
	if want == MySQL {
		names = []string{"mysqld"}
	}

	folders := append(filepath.SplitList(os.Getenv("PATH")),
		"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/opt/homebrew/bin", "/usr/local/bin")
	var paths []string
	if cache, err := cacheDir(); err == nil && want != MariaDB {
		paths = append(paths, filepath.Join(cache, "mysql", "bin", "mysqld"))
	}

	for _, name := range names {
		for _, folder := range folders {
			paths = append(paths, filepath.Join(folder, name))
		}
	}

	if want == "" && len(paths) > 0 { // what the system has comes before what was fetched for tests
		paths = append(paths[1:], paths[0])
	}

	return paths
}

var versionPattern = regexp.MustCompile(`Ver (\d+\.\d+\.\d+\S*)`)

func identify(ctx context.Context, path string) (Program, error) {
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return Program{}, fmt.Errorf("%s: not a program", path)
	}

	out, err := exec.CommandContext(ctx, path, "--no-defaults", "--version").Output()
	if err != nil {
		return Program{}, fmt.Errorf("ask %s for its version: %w", path, err)
	}

	m := versionPattern.FindStringSubmatch(string(out))
	if m == nil {
		return Program{}, fmt.Errorf("%s prints no version", path)
	}

	p := Program{Flavour: MySQL, Version: m[1], Path: path}
	if strings.Contains(m[1], "MariaDB") {
		p.Flavour = MariaDB
	}

	return p, nil
}

// cacheDir is where templates and fetched servers are kept; scripts/get-mysql.sh computes the same.
func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder: %w", err)
	}
	return filepath.Join(dir, "ttlproxy"), nil
}
