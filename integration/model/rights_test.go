package model

import (
	"slices"
	"strings"
)

// grants are the rights of an account by scope, db1.* or db1.t.
type grants map[string][]string

// everything is what the applications' owner has.
var everything = []string{"ALL"}

// rightsKnown are those that decide about statements of ours.
var rightsKnown = []string{"SELECT", "INSERT", "DELETE", "ALTER", "CREATE", "DROP", "INDEX", "CREATE TEMPORARY TABLES"}

// has reports whether an account has all of the rights on a table.
func (g grants) has(table name, rights ...string) bool {
	for _, right := range rights {
		if !g.one(table.schema+".*", right) && !g.one(table.String(), right) {
			return false
		}
	}
	return true
}

func (g grants) one(scope, right string) bool {
	return slices.Contains(g[scope], right) || slices.Contains(g[scope], "ALL")
}

// list is what follows GRANT, in a fixed order.
func (g grants) list() []string {
	var list []string
	for scope, rights := range g {
		list = append(list, strings.Join(rights, ", ")+" ON "+scope)
	}
	slices.Sort(list)
	return list
}

// needed are the rights without which the server would refuse the DELETE, ALTER or CREATE that a
// statement of ours stands for. Statements of the server's own are not here: it judges them itself.
func needed(v verb) []string {
	switch v {
	case declare, enable, pace:
		return []string{"ALTER", "DELETE", "SELECT"}
	case born:
		return []string{"CREATE", "DELETE"} // who may empty a table need not be able to read it
	case disable, remove:
		return []string{"ALTER"}
	case resume, approve, run:
		return []string{"DELETE", "SELECT"}
	default:
		return nil
	}
}
