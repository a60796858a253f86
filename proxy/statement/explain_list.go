package statement

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// emptyExplain is the answer to EXPLAIN TTL without its rows.
func emptyExplain(asJSON bool) report.List {
	if asJSON {
		return report.List{Name: "ttl_preview", Columns: []report.Column{{Name: "EXPLAIN", Type: report.LongText}}}
	}
	return report.List{
		Name: "ttl_preview",
		Columns: []report.Column{
			{Name: "Property", Type: report.Name},
			{Name: "Value", Type: report.LongText, Secret: true, Raw: true},
		},
	}
}

func explainJSON(p *plan.Preview) report.List {
	l := emptyExplain(true)
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // statements hold < and >
	e.SetIndent("", "  ")
	if err := e.Encode(p); err != nil {
		text.WriteString("{}") // not reached: numbers and texts
	}
	l.Rows = append(l.Rows, report.Row{Values: []any{strings.TrimSpace(text.String())}})
	return l
}

// explainList is a preview as lines for people.
func explainList(p *plan.Preview) report.List {
	l := emptyExplain(false)
	say := func(property, value string) {
		if value != "" {
			l.Rows = append(l.Rows, report.Row{Values: []any{property, value}})
		}
	}

	say("table", p.Table)
	say("ttl", p.TTL)
	if p.Version != 0 {
		say("version", fmt.Sprint(p.Version))
	}
	if p.TimeZone != "" {
		of := ""
		if p.Instants() {
			of = "; of " + zonedBeside
		}
		say("time zone", p.TimeZone+" (from the "+p.ZoneFrom+of+")")
	}

	say("schedule", p.Schedule)
	say("window", p.Window)
	say("cluster window", p.AllWindow)
	say("max lag", p.MaxLag)
	say("delete rate", p.DeleteRate)
	say("batch size", p.BatchSize)
	say("other options", p.Options)
	say("cutoff", p.Cutoff)
	say("rows", number(p.Rows, p.RowsExact))
	say("rows due now", fmt.Sprintf("%s (%s)", number(p.Due, p.Exact), p.DueShare()))

	if p.Usual != nil {
		say("usually due", fmt.Sprintf("about %.0f rows per hour", *p.Usual))
	}

	seen := p.Seen
	if seen == nil {
		seen = &plan.Seen{}
	}

	say("oldest due", dueDate(seen.OldestDue, seen.Sampled))
	say("newest due", dueDate(seen.NewestDue, seen.Sampled))
	for _, d := range p.Next {
		say("due until "+d.Until, number(d.Rows, d.Exact))
	}

	say("plan", string(p.Plan))
	say("plan reason", p.PlanReason)
	say("key", p.KeyIndex)
	say("index on time", p.TimeIndex)

	for _, a := range p.Plans {
		say("plan "+string(a.Plan), a.String())
	}
	for _, s := range seen.Statements {
		say("statement", s)
	}

	say("estimated duration", fmt.Sprintf("%s (%s)", duration(p.Seconds), p.SpeedFrom))
	say("estimated end", p.End)
	if p.Partitions > 0 {
		say("partitions", fmt.Sprintf("%d of %d may hold rows that are due", p.MayBeDue, p.Partitions))
	}
	for _, w := range p.Whole {
		say("partition", w)
	}
	if p.WorthDividing() {
		say("partition by", p.Rotation.Statement)
		say("partitioning", p.Rotation.Note)
	}

	say("foreign keys", strings.Join(p.Children, ", "))
	say("triggers", strings.Join(p.Triggers, ", "))

	if len(seen.Keys) > 0 {
		say("sample keys", sampleKeys(seen))
	}

	for _, w := range p.Warnings {
		say("warning", w)
	}

	return l
}

// dueDate is the date of a row; one of a sample may not be the very first or last.
func dueDate(date string, sampled bool) string {
	if date == "" || !sampled {
		return date
	}
	return date + " (of the rows sampled)"
}

func number(n int64, exact bool) string {
	if exact {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("about %d", n)
}

func duration(seconds float64) string {
	if seconds < 1 {
		return "under a second"
	}
	return ddl.FormatDuration(time.Duration(seconds * float64(time.Second)))
}

// sampleKeys lists keys, those of several columns in brackets.
func sampleKeys(s *plan.Seen) string {
	keys := make([]string, len(s.Keys))
	for i, k := range s.Keys {
		keys[i] = strings.Join(k, ", ")
		if len(k) > 1 {
			keys[i] = "(" + keys[i] + ")"
		}
	}
	return strings.Join(keys, ", ")
}
