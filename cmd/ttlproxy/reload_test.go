package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestOutdatedNamesWhatWaitsForARestart: only what has changed is named, and nothing that is taken
// over at once.
func TestOutdatedNamesWhatWaitsForARestart(t *testing.T) {
	before, err := loaded(t, "listen = ['a:1']\nstop-file = '/a'\nmax-connections = 1\nlog-level = 'info'", nil)
	if err != nil {
		t.Fatal(err)
	}

	after, err := loaded(t, "listen = ['b:1']\nstop-file = '/b'\nmax-connections = 2\nlog-level = 'warn'", nil)
	if err != nil {
		t.Fatal(err)
	}

	if got, want := before.outdated(after), []string{"listen", "stop-file"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := before.outdated(before); got != nil {
		t.Errorf("nothing has changed, and %q wait for a restart", got)
	}
}

func TestSecretIsReadEachTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	s := newSecret("engine-password-file", path, "ignored")
	for _, want := range []string{"one", "two"} {
		write(want + "\n")
		if got, err := s.read(); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}

	write("\n")
	if _, err := s.read(); err == nil {
		t.Error("an empty password was taken")
	}

	s.follow(newSecret("engine-password-file", "", ""))
	if got, err := s.read(); err != nil || got != "ignored" {
		t.Errorf("without a file: got %q, %v, want the one from the environment", got, err)
	}
}
