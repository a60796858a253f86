package report

import (
	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

var variableColumns = []Column{
	{Name: "Variable_name", Type: Name},
	{Name: "Value", Type: Text},
	{Name: "Default_value", Type: Text},
	{Name: "Allowed", Type: Text},
	{Name: "Scope", Type: Name},
	{Name: "Tidb_name", Type: Name},
	{Name: "Description", Type: LongText},
}

// listVariables is SHOW TTL VARIABLES: the settings with what they mean.
func listVariables(values setting.Values) List {
	l := List{Name: "ttl_variables", Columns: variableColumns, Like: "Variable_name"}
	for _, s := range setting.All() {
		l.add(catalog.Table{}, s.Name, values[s.Name], s.Default, s.Allowed(), s.Scope, orNull(s.Alias), s.Text)
	}
	return l
}
