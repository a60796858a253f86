package catalog

import (
	"errors"
	"fmt"
	"strings"
)

// ErrReserved says that a table is the server's own, or the catalog's: nothing in there may expire.
var ErrReserved = errors.New("a table of the server or of ttlproxy itself cannot have a TTL")

// Reserved returns ErrReserved for a table of the server's own schemas or of the catalog.
func (s *Store) Reserved(t Table) error {
	for _, schema := range []string{"mysql", "sys", "information_schema", "performance_schema", s.cfg.Schema} {
		if strings.EqualFold(t.Schema, schema) {
			return fmt.Errorf("%s: %w", t, ErrReserved)
		}
	}
	return nil
}

// SameTable reports whether two names are those of one table on this server.
func (s *Store) SameTable(a, b Table) bool { return s.Stored(a) == s.Stored(b) }
