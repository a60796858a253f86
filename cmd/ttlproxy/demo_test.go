package main

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

// stubborn is a server that cannot be removed.
type stubborn struct{ dir string }

var errStubborn = errors.New("still there")

func (stubborn) Kind() sandbox.Program       { return sandbox.Program{} }
func (stubborn) Addr() string                { return "127.0.0.1:1" }
func (s stubborn) Dir() string               { return s.dir }
func (stubborn) Config(string) *mysql.Config { return mysql.NewConfig() }
func (stubborn) Close() error                { return errStubborn }

// TestDemoTellsWhatIsLeft: also after Ctrl-C, whose other consequences are no errors.
func TestDemoTellsWhatIsLeft(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	if err := defaults().playOn(ended, world{stdout: io.Discard}, stubborn{t.TempDir()}); !errors.Is(err, errStubborn) {
		t.Errorf("got %v, want %v", err, errStubborn)
	}
}
