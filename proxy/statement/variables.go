package statement

import (
	"context"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// settingsWait bounds the wait for our settings in a statement that is not about them alone.
const settingsWait = time.Second

// variableColumns are those of SHOW VARIABLES.
var variableColumns = []report.Column{{Name: "Variable_name", Type: report.Name}, {Name: "Value", Type: report.Text}}

// showVariables answers SHOW VARIABLES with the server's variables and ours. Without a catalog it
// is the server's alone.
func (a *admin) showVariables(ctx context.Context, text string, s *ddl.ShowVariables) error {
	ours, err := a.matchingSettings(ctx, s.Filter)
	if err != nil {
		return err
	}
	if len(ours) == 0 {
		return a.q.pass()
	}

	r, err := a.q.x.Ask(text)
	if err != nil {
		return err
	}

	all := make([][]any, 0, len(r.Rows)+len(ours))
	for _, row := range r.Rows {
		all = append(all, values(row))
	}

	all = append(all, ours...)
	slices.SortStableFunc(all, func(a, b []any) int {
		return strings.Compare(strings.ToLower(a[0].(string)), strings.ToLower(b[0].(string)))
	})
	return a.q.x.Rows(&wire.ResultSet{Columns: r.Columns, Rows: all}, 0)
}

// namesSettings reports whether a filter may let some of our settings through.
func namesSettings(f ddl.Filter) bool { return f.MayName("ttl_", "tidb_ttl_") }

// matchingSettings lets the server pick those of our settings that a filter lets through.
func (a *admin) matchingSettings(ctx context.Context, f ddl.Filter) ([][]any, error) {
	if !namesSettings(f) {
		return nil, nil
	}

	ctx, cancel := context.WithTimeout(ctx, settingsWait)
	defer cancel()

	settings, err := a.q.store.Values(ctx)
	if err != nil {
		return nil, nil // the server's variables are what was asked for
	}

	r := &reply{list: settingList(settings), filter: f}
	found, err := a.q.x.Ask(r.query(literalRows(r.list)))
	if err != nil {
		return nil, err
	}

	var rows [][]any
	for _, row := range found.Rows {
		rows = append(rows, values(row))
	}

	return rows, nil
}

// settingList lists the settings by both of their names.
func settingList(values setting.Values) *report.List {
	l := &report.List{Name: "variables", Columns: variableColumns, Like: "Variable_name"}
	for _, s := range setting.All() {
		for _, name := range []string{s.Name, s.Alias} {
			if name != "" {
				l.Rows = append(l.Rows, report.Row{Values: []any{name, values[s.Name]}})
			}
		}
	}
	sort.Slice(l.Rows, func(i, j int) bool { return l.Rows[i].Values[0].(string) < l.Rows[j].Values[0].(string) })
	return l
}
