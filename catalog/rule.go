package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// ZoneSource tells where the time zone of a policy came from.
type ZoneSource string

// The sources of a zone. A zone taken from the server holds the policy when the server's changes.
const (
	ZoneFromTable   ZoneSource = "table"   // TTL_TIME_ZONE
	ZoneFromSetting ZoneSource = "setting" // ttl_default_time_zone
	ZoneFromServer  ZoneSource = "server"  // the server's global time_zone when the policy was declared
)

// Rule is what the TTL clause of a table says.
type Rule struct {
	Column      string            `json:"column"`  // as declared in the table
	Literal     string            `json:"literal"` // of the interval, as written
	Unit        string            `json:"unit"`    // of the interval, upper case
	Enabled     bool              `json:"enabled"`
	JobInterval string            `json:"job_interval"` // verbatim
	TimeZone    string            `json:"time_zone"`    // of DATETIME and DATE values, TTL_CRON and TTL_WINDOW
	ZoneSource  ZoneSource        `json:"zone_source"`
	Options     map[string]string `json:"options,omitempty"` // extension options, upper-case name to value
}

// Equal reports whether both rules delete the same rows at the same times.
func (r Rule) Equal(o Rule) bool {
	return r.sameExpiry(o) && r.Enabled == o.Enabled && r.JobInterval == o.JobInterval &&
		maps.Equal(r.Options, o.Options)
}

// sameExpiry reports whether a row expires at the same instant under both rules, and takes the same
// others along.
func (r Rule) sameExpiry(o Rule) bool {
	return r.Options[ddl.OptionForeignKeys] == o.Options[ddl.OptionForeignKeys] &&
		r.Options[ddl.OptionDependents] == o.Options[ddl.OptionDependents] &&
		ddl.SameName(r.Column, o.Column) && r.Literal == o.Literal && r.Unit == o.Unit &&
		r.TimeZone == o.TimeZone && r.zoneSource() == o.zoneSource()
}

// Said are the options that a clause says, and not what is kept beside them.
func (r Rule) Said() map[string]string {
	said := maps.Clone(r.Options)
	delete(said, ddl.OptionDependents)
	return said
}

// Expiry returns when a row expires, as the clause says it: `created` + INTERVAL 10 HOUR.
func (r Rule) Expiry() string {
	return ddl.Quote(r.Column) + " + INTERVAL " + r.Literal + " " + r.Unit
}

// String returns the rule as the table options that make it, in one fixed order, for
// people. What SHOW CREATE TABLE prints for servers is [ddl.Clause.Comments].
func (r Rule) String() string {
	enable := "OFF"
	if r.Enabled {
		enable = "ON"
	}

	var b strings.Builder
	fmt.Fprintf(&b, "TTL=%s TTL_ENABLE='%s' TTL_JOB_INTERVAL=%s", r.Expiry(), enable, tables.Literal(r.JobInterval))
	if r.ZoneSource == ZoneFromTable {
		fmt.Fprintf(&b, " TTL_TIME_ZONE=%s", tables.Literal(r.TimeZone))
	}

	for _, name := range slices.Sorted(maps.Keys(r.Said())) {
		fmt.Fprintf(&b, " %s=%s", name, tables.Literal(r.Options[name]))
	}

	return b.String()
}
