package unixsocket

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestListen: what a process left behind that was killed is in nobody's way; whatever is alive, or no socket, stays.
func TestListen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	open := func() (net.Listener, error) { return Listen(t.Context(), net.ListenConfig{}, "unix", path) }

	dead, err := open()
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}

	alive, err := open()
	if err != nil {
		t.Fatalf("with a dead socket in its place: %v", err)
	}
	if _, err := open(); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("with a live socket in its place: got %v, want %v", err, syscall.EADDRINUSE)
	}
	if err := alive.Close(); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path, []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("with a file in its place: got %v, want %v", err, syscall.EADDRINUSE)
	}
}
