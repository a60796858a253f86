package catalog

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWritable: whatever word a server has for it, nothing is deleted on one that is read-only.
func TestWritable(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		for value, want := range map[string]bool{
			"0": true, "1": false, "'OFF'": true, "'ON'": false, "'NO_LOCK'": false, "'NO_LOCK_NO_ADMIN'": false,
			"NULL": false, "@@global.read_only": true,
		} {
			var got bool
			query := "SELECT COALESCE(" + strings.ReplaceAll(Writable, "@@global.read_only", value) + ", FALSE)"
			if err := b.db.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got != want {
				t.Errorf("read_only = %s: got %t, %v, want %t", value, got, err, want)
			}
		}
	})
}

// TestWritableIsAskedInOneWay: no statement compares the variable in a way of its own.
func TestWritableIsAskedInOneWay(t *testing.T) {
	t.Parallel()
	seen := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if n := strings.Count(string(text), "@@global.read_only"); n > 0 {
			if seen += n; path != filepath.Join("..", "catalog", "queries.go") {
				t.Errorf("%s asks for read_only, and not by Writable", path)
			}
		}
		return err
	})
	if err != nil || seen != 1 {
		t.Errorf("read_only is asked for in %d places, want one, %v", seen, err)
	}
}
