package catalog

import (
	"fmt"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Guard returns the condition under which a batch may delete for a policy: it is armed in this version and neither
// it nor everything is paused or held. It takes shared locks on the three rows it reads, which a change waits for.
// The text holds literals, so that the engine can send a batch as one packet.
func (s *Store) Guard(policyID, version uint64) string {
	return fmt.Sprintf(guardText, s.schema, policyID, version)
}

// Name returns the quoted, qualified name of one of the catalog's tables.
func (s *Store) Name(table string) string {
	return s.schema + "." + ddl.Quote(table)
}
