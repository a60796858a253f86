package report

import (
	"fmt"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

var lineageColumns = []Column{{Name: "Property", Type: Name}, {Name: "Value", Type: LongText}}

// Lineage is what TRUST TTL SERVER answers: where the catalog is, whether policies are held there,
// and how to release them.
func Lineage(l catalog.Lineage, hold catalog.GlobalPause) List {
	list := List{Name: "ttl_server", Columns: lineageColumns}
	for _, p := range lineageProperties(l) {
		list.add(catalog.Table{}, p[0], p[1])
	}

	held := "no"
	if hold.Held {
		held = hold.HeldReason
	}

	list.add(catalog.Table{}, "Policies held", held)
	if hold.Held || !l.Known {
		list.add(catalog.Table{}, "To trust it", "TRUST TTL SERVER "+quoted(l.Server.Key()))
	}

	return list
}

// lineageProperties are name and value of what says where the catalog is and has been.
func lineageProperties(l catalog.Lineage) [][2]string {
	all := [][2]string{
		{"Server", l.Server.Key()},
		{"Server version", l.Server.Version},
		{"Server cluster", l.Server.Cluster},
		{"Server trusted", yesNo(l.Known)},
		{"Generation", fmt.Sprint(l.Generation)},
		{"Last seen at work", lastSeen(l)},
	}

	var others []string
	for _, k := range l.Servers {
		if k.Key != l.Server.Key() {
			others = append(others, fmt.Sprintf("%s (last seen %s)", k.Key, catalog.Moment(k.LastAt)))
		}
	}

	return append(all, [2]string{"Other servers", strings.Join(others, ", ")})
}

func lastSeen(l catalog.Lineage) string {
	if l.AdvancedAt.IsZero() {
		return "never"
	}
	return fmt.Sprintf("%s, %s ago", catalog.Moment(l.AdvancedAt), ddl.FormatDuration(l.Age))
}

// quoted writes a text as a literal that means the same in every SQL mode.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
