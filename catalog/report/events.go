package report

import "github.com/ttlproxy/ttlproxy/catalog"

var eventColumns = []Column{
	{Name: "Event_id", Type: Unsigned},
	{Name: "Happened", Type: Time},
	{Name: "Kind", Type: Name},
	{Name: "Table_schema", Type: Name},
	{Name: "Table_name", Type: Name},
	{Name: "Version", Type: Unsigned},
	{Name: "Actor", Type: Text},
	{Name: "Text", Type: LongText},
}

// listEvents is SHOW TTL EVENTS: who declared, changed, armed, paused, approved, and when; the latest
// first.
func listEvents(events []catalog.Event) List {
	l := List{Name: "ttl_events", Columns: eventColumns, Like: "Kind"}
	for _, e := range events {
		l.add(e.Table, e.ID, e.At, string(e.Kind), orNull(e.Table.Schema), orNull(e.Table.Name),
			when(e.Version != 0, e.Version), e.Actor, e.Text)
	}
	return l
}
