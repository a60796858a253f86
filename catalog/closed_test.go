package catalog

import (
	"errors"
	"testing"
)

func TestClosedCatalogSaysWhy(t *testing.T) {
	t.Parallel()
	why := errors.New("the server is away")
	s := Closed(func() error { return why })
	if _, err := s.Policies(t.Context()); !errors.Is(err, why) {
		t.Errorf("read: got %v, want %v", err, why)
	}
	if err := s.Pause(t.Context(), "dba", PauseAll, "", s.Server().Boot); !errors.Is(err, why) {
		t.Errorf("write: got %v, want %v", err, why)
	}
}
