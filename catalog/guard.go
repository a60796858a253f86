package catalog

import (
	"fmt"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Guard returns the condition under which a batch may delete for a policy: it is armed in this
// version and neither it nor everything is paused or held. It takes shared locks on the three rows
// it reads, which a change waits for. If a Witness watches, the catalog must also have lived as
// long as that remembers: one that was restored a moment ago has policies that are gone. The text
// holds literals, so that the engine can send a batch as one packet.
func (s *Store) Guard(policyID, version uint64) string {
	text := fmt.Sprintf(guardText, s.schema, policyID, version)
	if r := s.reached.Load(); r != nil {
		text += fmt.Sprintf(reachedText, s.schema, tables.Literal(r.catalog), r.generation)
	}
	return text
}

// GuardAlong is the further condition of a batch that takes rows of other tables along: the policies
// of those are these, and may all delete, so none of them waits for approval whatever the brake says.
// Whoever changes one of them, or gives one of the tables another, or its first, raises the fence of
// the batch's task.
func (s *Store) GuardAlong(others []Table, policies []Policy) string {
	names := make([]string, len(others))
	for i, t := range others {
		t = s.Stored(t)
		names[i] = "(" + tables.Literal(t.Schema) + ", " + tables.Literal(t.Name) + ")"
	}

	text := ""
	if len(names) > 0 {
		text = fmt.Sprintf(alongText, s.schema, strings.Join(names, ", "), len(policies))
	}
	for _, p := range policies {
		text += " AND " + fmt.Sprintf(guardText, s.schema, p.ID, p.Version) + fmt.Sprintf(approvedText, s.schema, p.ID)
	}
	return text
}

// reached is how far a catalog is known to have lived.
type reached struct {
	catalog    string
	generation uint64
}

// Name returns the quoted, qualified name of one of the catalog's tables.
func (s *Store) Name(table string) string {
	return s.schema + "." + ddl.Quote(table)
}
