package plan

import (
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// CutoffOf is the cutoff of a job that starts now under a rule, for a TTL column of that kind.
func CutoffOf(r catalog.Rule, kind tables.Kind, now time.Time) (Cutoff, error) {
	span, err := ddl.Interval{Literal: r.Literal, Unit: ddl.Unit(r.Unit)}.Span()
	if err != nil {
		return Cutoff{}, err
	}
	zone := time.UTC
	if r.TimeZone != "" {
		if zone, err = ddl.Zone(r.TimeZone); err != nil {
			return Cutoff{}, err
		}
	}
	return NewCutoff(now, zone, span, kind)
}
