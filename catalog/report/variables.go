package report

import "github.com/ttlproxy/ttlproxy/catalog"

var variableColumns = []Column{
	{Name: "Variable_name", Type: Name},
	{Name: "Value", Type: Text},
	{Name: "Default_value", Type: Text},
	{Name: "Allowed", Type: Text},
	{Name: "Scope", Type: Name},
	{Name: "Tidb_name", Type: Name},
	{Name: "Description", Type: LongText},
}

// Variables is SHOW TTL VARIABLES: the settings with what they mean.
func Variables(values catalog.Values) List {
	l := List{Name: "ttl_variables", Columns: variableColumns, Like: "Variable_name"}
	for _, s := range catalog.AllSettings() {
		l.add(catalog.Table{}, s.Name, values[s.Name], s.Default, s.Allowed(), s.Scope, orNull(s.Alias), s.Text)
	}
	return l
}
