package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// largeTable is from how many rows on a table should have an index on time, if little of it is due
// at a time.
const largeTable = 100_000

const triggersRun = "triggers will run for every deleted row: %s"

// ShowTriggers makes the preview one for a reader who is shown these triggers. MySQL shows them to
// nobody without the right TRIGGER on the table: the asking account may see fewer than the reader,
// or more, of which only the number is shown.
func (p *Preview) ShowTriggers(names []string) {
	p.Triggers = p.show(p.Triggers, names, func(all string) string { return fmt.Sprintf(triggersRun, all) })
}

// ShowTriggersOf is ShowTriggers for one of the dependents.
func (p *Preview) ShowTriggersOf(dependent int, names []string) {
	d := &p.Dependents[dependent]
	d.Triggers = p.show(d.Triggers, names, d.runs)
}

// show corrects a warning that names triggers, and returns which are shown.
func (p *Preview) show(known, names []string, warning func(string) string) []string {
	was := warning(strings.Join(known, ", "))
	p.Warnings = slices.DeleteFunc(p.Warnings, func(w string) bool { return w == was })
	if hidden := len(known) - len(names); hidden > 0 {
		names = append(names, fmt.Sprintf("%d that you may not see", hidden))
	}
	if len(names) > 0 {
		p.Warnings = append(p.Warnings, warning(strings.Join(names, ", ")))
	}
	return names
}

// warnings are what somebody should know before it happens.
func (v *preview) warnings(p *Preview) []string {
	var w []string
	warn := func(condition bool, text string, args ...any) {
		if condition {
			w = append(w, fmt.Sprintf(text, args...))
		}
	}

	warn(p.Brake != "", "the next job will wait for %s: %s",
		catalog.ApprovalOf(v.Table, p.Version, uint64(max(v.toGo().Expired, 0))), p.Brake)
	warn(!v.Rule.Enabled, "TTL_ENABLE is 'OFF': nothing will be deleted")
	warn(p.Plan == Refuse, "no plan is affordable, so the job will fail: %s", p.PlanReason)
	late := v.timesOut(p)
	warn(late != "", "%s", late)
	without := v.withoutIndex()
	warn(without != "", "%s", without)
	asked, queued := v.Terms.Options.Plan == ddl.PlanQueue, p.Plan.queued()
	warn(asked && !queued, "TTL_PLAN = 'QUEUE' makes no difference: %s", p.PlanReason)
	warn(queued, "%s", v.costsOfQueue())
	warn(without == "" && !queued && p.TimeIndex == "" && p.Rows > largeTable,
		"no index begins with %s, so every job reads all of %s rows; %s", v.Rule.Column, about(p.Rows, p.RowsExact),
		v.addIndex())
	warn(v.Rule.ZoneSource == catalog.ZoneFromServer && v.Rule.TimeZone != "",
		"the time zone %s was taken from the server; TTL_TIME_ZONE = '…' makes the table independent of it",
		v.Rule.TimeZone)
	warn(p.Null > 0, "rows without a date, which never expire: %s", about(p.Null, p.RowsExact))
	warn(p.Odd > 0, "rows with a zero date or one before %s, which never expire: %s", v.Floor,
		about(p.Odd, p.RowsExact))
	warn(v.inAll().MostNeverExpire(), "most of the rows never expire: is %s the column that tells their age?",
		v.Rule.Column)
	warn(v.keyHold != "", "jobs will wait: %s", v.keyHold)
	warn(!v.staying.None(), "rows that these foreign keys point at stay%s: %s", v.stayed(),
		strings.Join(p.Children, ", "))
	along, orphans := v.along()
	larger := "those go first, in parts"
	if f := v.staying.Along(); f != nil && f.Cascades() {
		larger = "the row stays, and SHOW TTL ERRORS lists it"
		warn(true, "the server itself lets go of what depends on rows: no trigger of those tables runs (unless "+
			"enable_cascade_triggers is ON), and binary logs do not show it, but for MySQL's since 9.6")
	}
	warn(along != "", "rows that depend on these go with them, however young they are: %s", along)
	warn(orphans != "", "rows that depend on these lose their parent (ON DELETE SET NULL): %s", orphans)
	warn(v.families != "", "of the rows that are due, %s; if that is more than ttl_fk_max_children, %s",
		v.families, larger)
	warn(len(p.Triggers) > 0, triggersRun, strings.Join(p.Triggers, ", "))
	for _, d := range v.dependents {
		warn(len(d.Triggers) > 0, "%s", d.runs(strings.Join(d.Triggers, ", ")))
	}
	dependence := v.facts.SessionDependence(v.Rule.Column)
	warn(dependence != "", "jobs will wait: %s", ddl.ReaderDependent(v.Rule.Column, dependence).Message)
	unfit := v.facts.Unfit()
	warn(unfit != "", "jobs will wait: %s", unfit)

	return w
}

// stayed says how many rows stay of those that were looked at.
func (v *preview) stayed() string {
	if v.looked == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of the first %d that have expired", v.stay, v.looked)
}

// along says of which tables rows go along, and of which they lose a parent, and about how many with
// the rows that are due.
func (v *preview) along() (goes, orphans string) {
	var deleted, nulled []string
	for _, d := range v.dependents {
		if d.Orphans {
			nulled = append(nulled, d.text())
		} else {
			deleted = append(deleted, d.text())
		}
	}
	return strings.Join(deleted, ", "), strings.Join(nulled, ", ")
}
