package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// TiDBColumns are the columns of one of TiDB's tables.
func TiDBColumns(table string) []Column {
	switch table {
	case "tidb_ttl_table_status":
		return tidbStatusColumns
	case "tidb_ttl_task":
		return tidbTaskColumns
	default:
		return tidbHistoryColumns
	}
}

// tidbKeys are the columns of the tables' primary keys.
var tidbKeys = map[string][]string{
	"tidb_ttl_table_status": {"table_id"},
	"tidb_ttl_task":         {"job_id", "scan_id"},
	"tidb_ttl_job_history":  {"job_id"},
}

// DescribeTiDB is SHOW COLUMNS or SHOW CREATE TABLE of one of TiDB's tables, as TiDB answers it.
func DescribeTiDB(table string, form ddl.Form) List {
	table = strings.ToLower(table)
	if form == ddl.FormCreate {
		l := List{Name: "ttl_table", Columns: []Column{
			{Name: "Table", Type: Name},
			{Name: "Create Table", Type: LongText},
		}, Like: "Table"}
		l.add(catalog.Table{}, table, createTiDB(table))
		return l
	}

	l := List{
		Name: "ttl_columns", Columns: describedColumns("Field", "Type", "Null", "Key", "Default", "Extra"),
		Like: "Field",
	}
	if form == ddl.FormFullColumns {
		l.Columns = describedColumns(
			"Field", "Type", "Collation", "Null", "Key", "Default", "Extra", "Privileges", "Comment")
	}

	for _, c := range TiDBColumns(table) {
		null, key := "YES", ""
		if slices.Contains(tidbKeys[table], c.Name) {
			null, key = "NO", "PRI"
		}

		row := []any{c.Name, tidbType(c.Type), null, key, nil, ""}
		if form == ddl.FormFullColumns {
			row = []any{
				c.Name, tidbType(c.Type), when(c.Type.IsText(), "utf8mb4_bin"), null, key, nil, "", "select",
				"",
			}
		}

		l.add(catalog.Table{}, row...)
	}

	return l
}

func describedColumns(names ...string) []Column {
	columns := make([]Column, len(names))
	for i, n := range names {
		columns[i] = Column{Name: n, Type: Text}
	}
	return columns
}

func createTiDB(table string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (\n", ddl.Quote(table))

	for _, c := range TiDBColumns(table) {
		null := "DEFAULT NULL"
		if slices.Contains(tidbKeys[table], c.Name) {
			null = "NOT NULL"
		}
		fmt.Fprintf(&b, "  %s %s %s,\n", ddl.Quote(c.Name), tidbType(c.Type), null)
	}

	quoted := make([]string, len(tidbKeys[table]))
	for i, k := range tidbKeys[table] {
		quoted[i] = ddl.Quote(k)
	}

	fmt.Fprintf(&b, "  PRIMARY KEY (%s)\n)", strings.Join(quoted, ","))
	return b.String()
}

// tidbType is the type of a column as TiDB declares it.
func tidbType(t Type) string {
	switch t {
	case Integer:
		return "bigint(64)"
	case tidbInt:
		return "int(11)"
	case Text:
		return "varchar(256)"
	case Time:
		return "timestamp"
	case LongText:
		return "text"
	default:
		return strings.ToLower(string(t))
	}
}
