package catalog

import (
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Terms are what a rule says, as values. Those of a rule that cannot be read have none, and no
// cutoff follows from them.
type Terms struct {
	Span    ddl.Span // from a row's date to when it expires
	Timing  Timing
	Options ddl.Options

	read bool
}

// Read reports whether the terms are a rule's.
func (t Terms) Read() bool { return t.read }

// Terms reads the rule.
func (r Rule) Terms() (Terms, error) { return r.terms(ddl.Zone) }

func (r Rule) terms(zone func(string) (*time.Location, error)) (t Terms, err error) {
	if t.Span, err = (ddl.Interval{Literal: r.Literal, Unit: ddl.Unit(r.Unit)}).Span(); err != nil {
		return Terms{}, err
	}
	if t.Options, err = ddl.ReadOptions(r.Options); err != nil {
		return Terms{}, err
	}
	if t.Timing, err = r.timing(t.Options, zone); err != nil {
		return Terms{}, err
	}
	t.read = true
	return t, nil
}

// timing is when the rule's jobs start.
func (r Rule) timing(o ddl.Options, zone func(string) (*time.Location, error)) (t Timing, err error) {
	t = Timing{Zone: time.UTC, Cron: o.Cron, Window: o.Window, MaxLag: o.MaxLag}
	if t.Window != nil && t.Window.Closed() == 0 {
		t.Window = nil
	}
	if r.TimeZone != "" {
		if t.Zone, err = zone(r.TimeZone); err != nil {
			return t, err
		}
	}

	if t.Interval, err = ddl.Duration(r.JobInterval); err != nil {
		return t, fmt.Errorf("option %s='%s': %w", ddl.OptionJobInterval, r.JobInterval, err)
	}

	// What expires just after a job has looked waits for the next one: half the goal leaves that
	// one time to delete.
	if t.MaxLag > 0 && t.MaxLag/2 < t.Interval {
		t.Interval, t.hurried = t.MaxLag/2, true
	}

	t.Interval = max(t.Interval, leastInterval)
	return t, nil
}

// understand reads the rule of a policy. It is the one place that meets a rule which this version
// does not understand, because another one wrote it, or which names a zone that this machine does
// not know. Nothing is deleted by such a rule: what it says beyond what is understood may spare
// rows.
func (p *Policy) understand(zone func(string) (*time.Location, error)) {
	var err error
	if p.Terms, err = p.Rule.terms(zone); err != nil {
		p.Terms.Timing = Timing{Zone: time.UTC, Interval: 24 * time.Hour} // reports measure by an interval
		p.Unread = fmt.Sprintf("this ttlproxy does not understand the rule, which another version may have written: "+
			"%v; update ttlproxy, or REMOVE TTL and declare it again", err)
	}
}

// zones resolves the zones of many rules, each of them once: one is a file to be read.
type zones map[string]*time.Location

func (z zones) resolve(name string) (*time.Location, error) {
	if known := z[name]; known != nil {
		return known, nil
	}
	found, err := ddl.Zone(name)
	if err == nil {
		z[name] = found
	}
	return found, err
}
