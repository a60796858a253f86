package clients

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// python runs with Debian's interpreter, which is the one that sees Debian's packages.
func python(t *testing.T) ([]string, error) {
	t.Helper()
	for _, interpreter := range []string{"python3", "/usr/bin/python3"} {
		if check(t, "", interpreter, "-c", "import pymysql, cryptography") == nil {
			return []string{interpreter, path(t, "python/pymysql_client.py")}, nil
		}
	}
	return nil, fmt.Errorf("install python3-pymysql and python3-cryptography")
}

func php(t *testing.T) ([]string, error) {
	t.Helper()
	return []string{"php", path(t, "php/pdo.php")},
		check(t, "php-cli and php-mysql", "php", "-r", `exit(in_array("mysql", PDO::getAvailableDrivers()) ? 0 : 1);`)
}

func java(t *testing.T) ([]string, error) {
	t.Helper()
	const jar = "/usr/share/java/mariadb-java-client.jar"
	if _, err := os.Stat(jar); err != nil {
		return nil, fmt.Errorf("install libmariadb-java: %w", err)
	}
	return []string{"java", "-cp", jar, path(t, "java/Client.java")},
		check(t, "default-jdk-headless", "java", "--list-modules")
}

// libmariadb compiles the C client once per test.
func libmariadb(t *testing.T) ([]string, error) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "pipeline")
	build := fmt.Sprintf(`gcc -Wall -O1 %q $(mariadb_config --cflags --libs) -o %q`, path(t, "c/pipeline.c"), bin)
	return []string{bin}, check(t, "gcc and libmariadb-dev", "sh", "-c", build)
}

// node gives a client one of the scripts in node/, with the drivers installed in the user's cache.
func node(script string) func(*testing.T) ([]string, error) {
	return func(t *testing.T) ([]string, error) {
		t.Helper()
		if err := check(t, "nodejs and npm", "npm", "--version"); err != nil {
			return nil, err
		}
		dir, err := nodeModules()
		return []string{"node", filepath.Join(dir, script)}, err
	}
}

// nodeModules copies node/ to the user's cache and installs the drivers there, once per test run.
var nodeModules = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "ttlproxy", "clients-node")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	entries, err := fs.Glob(os.DirFS("node"), "*.js*")
	if err != nil {
		return "", err
	}
	for _, name := range entries {
		b, err := os.ReadFile(filepath.Join("node", name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return "", err
		}
	}
	install := exec.Command("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--omit=dev")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return dir, nil
})
