package ttl

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestStopFileIsNotRead: however much is in it, that there is one is enough.
func TestStopFileIsNotRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "stop")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 1<<40); err != nil {
		t.Skip(err) // not on every file system
	}
	began := time.Now()
	if why := stopFile(file); why == "" || time.Since(began) > time.Second {
		t.Errorf("got %q after %v", why, time.Since(began))
	}
}
