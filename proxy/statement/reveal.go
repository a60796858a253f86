package statement

import (
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// reveal makes a preview, which shows what the service account sees, one for a client that may delete by the column:
// no keys and dates of rows that it may not read, and no names of triggers and tables that it may not see.
func (q *request) reveal(p *plan.Preview, name ddl.Name, table catalog.Table, column string) error {
	if err := q.hideRows(p, name, column); err != nil {
		return err
	}
	if err := q.showTriggers(p, table); err != nil {
		return err
	}
	return q.veil(sentencesOf(p)...) // children, as the service account sees them
}

// hideRows removes keys and dates of rows for a client that may not read them.
func (q *request) hideRows(p *plan.Preview, table ddl.Name, column string) error {
	columns := []string{ddl.Quote(column)}
	for _, k := range p.Seen.KeyColumns {
		columns = append(columns, ddl.Quote(k))
	}

	of, err := q.spelledName(table)
	if err != nil {
		return err
	}

	listed, err := q.spelled(strings.Join(columns, ", "))
	if err != nil {
		return err
	}
	if _, err = q.x.Ask("EXPLAIN SELECT " + listed + " FROM " + of); err != nil {
		p.Seen = nil
	}

	return nilIfRefused(err)
}

// sentencesOf are those that a preview has for people.
func sentencesOf(p *plan.Preview) []*string {
	sentences := []*string{&p.PlanReason, &p.Brake}
	for _, list := range [][]string{p.Children, p.Warnings, p.Whole} {
		for i := range list {
			sentences = append(sentences, &list[i])
		}
	}
	for i := range p.Dependents {
		sentences = append(sentences, &p.Dependents[i].Name)
	}
	for i := range p.Plans {
		sentences = append(sentences, &p.Plans[i].WhyNot)
	}
	if p.Rotation != nil {
		sentences = append(sentences, &p.Rotation.Note)
	}
	return sentences
}

// showTriggers asks the server, as the client, for triggers that it may not show to the service
// account.
func (q *request) showTriggers(p *plan.Preview, t catalog.Table) error {
	names, err := q.triggersOf(t, "DELETE")
	if err != nil {
		return err
	}
	p.ShowTriggers(names)

	for i, d := range p.Dependents {
		if d.Event == "" {
			continue
		}
		if names, err = q.triggersOf(d.Table, d.Event); err != nil {
			return err
		}
		p.ShowTriggersOf(i, names)
	}
	return nil
}

func (q *request) triggersOf(t catalog.Table, event string) (names []string, err error) {
	r, err := askAll(q.x,
		"SELECT CAST(TRIGGER_NAME AS BINARY) FROM information_schema.TRIGGERS WHERE EVENT_MANIPULATION = "+
			literal(event)+" AND EVENT_OBJECT_SCHEMA = "+literal(t.Schema)+" AND EVENT_OBJECT_TABLE = "+
			literal(t.Name))
	if err != nil {
		return nil, err
	}
	for _, row := range r.Rows {
		names = append(names, string(row[0]))
	}
	return names, nil
}
