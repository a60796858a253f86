package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
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

// Variables is SHOW TTL VARIABLES: the settings with what they mean.
func Variables(values catalog.Values) List {
	l := List{Name: "ttl_variables", Columns: variableColumns, Like: "Variable_name"}
	for _, s := range catalog.AllSettings() {
		l.add(catalog.Table{}, s.Name, values[s.Name], s.Default, Allowed(s), s.Scope, orNull(s.Alias), s.Text)
	}
	return l
}

// Allowed says in a few words which values a setting takes.
func Allowed(s catalog.Setting) string {
	switch s.Kind {
	case catalog.KindBool:
		return "ON, OFF"
	case catalog.KindInt:
		if s.Max == math.MaxInt64 {
			return fmt.Sprintf("%d or more", s.Min)
		}
		return fmt.Sprintf("%d to %d", s.Min, s.Max)
	case catalog.KindChoice:
		return strings.Join(s.Choices, ", ")
	default:
		return string(s.Kind)
	}
}
