package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// scriptedDocker stands in for Docker: it writes down what it is told, and its container is a
// server that listens at address.
func scriptedDocker(t *testing.T, address string) (said func() string) {
	t.Helper()
	dir := t.TempDir()
	journal := filepath.Join(dir, "journal")
	script := "#!/bin/sh\necho \"$*\" >>" + journal + "\ncase $1 in\nimage) exit 1 ;;\nport) echo " + address +
		" ;;\nesac\n"
	// a program
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(script), 0o755); err != nil { //nolint:gosec // see above
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() string {
		text, _ := os.ReadFile(journal)
		return string(text)
	}
}

func TestContainer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: left out under -short")
	}

	behind := start(t, Config{Args: []string{"--skip-grant-tables"}}) // so that it takes the password
	said := scriptedDocker(t, behind.Addr())
	if !HasDocker(t.Context()) {
		t.Fatal("no Docker, although docker info succeeds")
	}

	c, err := StartContainer(t.Context(), Config{}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(c.Version, strings.Split(behind.Version, "-")[0]) || c.Addr() != behind.Addr() {
		t.Errorf("the container is %s at %s, want %s at %s", c.Version, c.Addr(), behind.Version, behind.Addr())
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{
		"pull mariadb:10.11\n",
		"run --detach --rm --publish 127.0.0.1::3306 --env-file " + filepath.Join(c.Dir(), "container.env") +
			" --name " + c.name + " mariadb:10.11 ",
		"port " + c.name + " 3306/tcp\n", "rm --force --volumes " + c.name + "\n",
	} {
		if !strings.Contains(said(), want) {
			t.Errorf("Docker was not told %q but\n%s", want, said())
		}
	}

	if _, err := os.Stat(c.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", c.Dir(), err)
	}
}

// TestGuardRemovesContainer: when we are gone without a word, its guard ends the container.
func TestGuardRemovesContainer(t *testing.T) {
	said := scriptedDocker(t, "")
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}

	guard, err := startGuard(endContainer, "ttlproxy-test", dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.Close(); err != nil { // as the kernel does when we end
		t.Fatal(err)
	}

	for deadline := time.Now().Add(time.Minute); ; {
		_, err := os.Stat(dir)
		if errors.Is(err, os.ErrNotExist) && strings.Contains(said(), "rm --force --volumes ttlproxy-test\n") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 20 s: %v, %s", err, said())
		}

		<-time.After(20 * time.Millisecond)
	}
}

func TestContainerThatDoesNotStart(t *testing.T) {
	said := scriptedDocker(t, "nowhere")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := StartContainer(ctx, Config{Flavour: MySQL}, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "docker port") {
		t.Errorf("got %v, want what docker port says", err)
	}
	if !strings.Contains(said(), "rm --force") {
		t.Errorf("the container was not removed:\n%s", said())
	}
}
