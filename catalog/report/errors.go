package report

import "github.com/ttlproxy/ttlproxy/catalog"

var errorColumns = []Column{
	{Name: "Table_schema", Type: Name},
	{Name: "Table_name", Type: Name},
	{Name: "Partition_name", Type: Name},
	{Name: "Row_key", Type: LongText, Secret: true, Raw: true},
	{Name: "Error_number", Type: Unsigned},
	{Name: "Reason", Type: LongText, Secret: true}, // of the server, which may quote what is in rows
	{Name: "Attempts", Type: Unsigned},
	{Name: "First_at", Type: Time},
	{Name: "Last_at", Type: Time},
	{Name: "Next_try", Type: Time},
}

// listErrors is SHOW TTL ERRORS: the rows that could not be deleted.
func listErrors(rows []catalog.RowError) List {
	l := List{Name: "ttl_errors", Columns: errorColumns, Like: "Table_name"}
	for _, e := range rows {
		l.add(e.Table, e.Table.Schema, e.Table.Name, orNull(e.Partition), e.Key, uint64(max(e.Number, 0)), e.Reason,
			e.Attempts, e.FirstAt, e.LastAt, e.NextTryAt)
	}
	return l
}
