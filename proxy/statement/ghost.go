package statement

import (
	"regexp"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// ghostName matches what online schema changes call the tables that they create and leave: gh-ost's
// _t_gho, _t_del and _t_ghc, the _t_new and _t_old of pt-online-schema-change and Spirit, which may
// append a time, LHM's lhmn_t and lhma_time_t, and the __osc_new_t, __osc_old_t and __osc_chg_t of
// Facebook's OnlineSchemaChange. A policy on such a table is dormant.
var ghostName = regexp.MustCompile(`(?i)^(_.+_(gho|del|ghc|new|old(_[0-9_]+)?|chkpnt)|` +
	`lhm[na]_.+|__osc_(new|old|chg|deltas)_.+)$`)

func isGhost(t catalog.Table) bool { return ghostName.MatchString(t.Name) }

// copyName matches those names under which copies are filled.
var copyName = regexp.MustCompile(`(?i)^(?:_(.+)_(?:gho|new)|lhmn_(.+)|__osc_new_(.+))$`)

// copiedNames are the names that a copy may be meant for, the likeliest first:
// pt-online-schema-change prepends more underscores while the name is taken.
func copiedNames(copied string) (names []string) {
	m := copyName.FindStringSubmatch(copied)
	if m == nil {
		return nil
	}
	name := m[1] + m[2] + m[3]
	for names = append(names, name); len(name) > 1 && strings.HasPrefix(name, "_"); names = append(names, name) {
		name = name[1:]
	}
	return names
}
