package catalog

import "github.com/ttlproxy/ttlproxy/ddl"

// Condition is one that the catalog judges by itself.
type Condition struct {
	sql   string
	value string
}

// onHistory are columns of SHOW TTL HISTORY, by their names in lower case, as the catalog has them:
// compared as what is shown would be.
var onHistory = map[string]struct {
	sql    string
	number bool
}{
	"job_id":         {"h.job_id", true},
	"runs":           {"h.runs", true},
	"rows_due":       {"h.estimated_rows", true},
	"rows_deleted":   {"h.deleted", true},
	"rows_refreshed": {"h.refreshed", true},
	"rows_failed":    {"h.failed", true},
	"rows_skipped":   {"h.skipped", true},
	"rows_examined":  {"h.examined", true},
	"inflow":         {"h.inflow", true},
	"state":          {"h.state" + asShown, false},
	"plan":           {"h.plan" + asShown, false},
	"partition_name": {"NULLIF(h.partition_name, '')" + asShown, false},
}

const asShown = " COLLATE utf8mb4_general_ci"

// ConditionsOnHistory are the comparisons as the catalog judges them, and false if one of them is
// for the server alone.
func ConditionsOnHistory(comparisons []ddl.Comparison) (all []Condition, judged bool) {
	for _, c := range comparisons {
		column, known := onHistory[c.Column]
		if !known || column.number != c.Number {
			return nil, false
		}

		placeholder := "?"
		if c.Number {
			placeholder = "CAST(? AS UNSIGNED)"
		}
		all = append(all, Condition{column.sql + " " + c.Operator + " " + placeholder, c.Value})
	}
	return all, true
}
