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

// showVariables answers SHOW VARIABLES with the server's variables and ours. Without a catalog whoever
// has not asked for ours has the server's alone, and a warning.
func (a *admin) showVariables(ctx context.Context, text string, s *ddl.ShowVariables) error {
	if !namesSettings(s.Filter) {
		return a.q.pass()
	}

	settings, err := a.settings(ctx, s.Filter)
	switch {
	case err != nil && wantsSettings(s.Filter):
		return err
	case err != nil:
		a.q.warn("the settings of ttlproxy are missing, because the catalog of TTL policies cannot be asked")
		a.q.x.Leave(a.q.notes...)
		return a.q.pass()
	}

	ours, err := a.pick(settings, s.Filter)
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

// wantsSettings reports whether whoever wrote a filter had our settings in mind: to him an answer without
// them would say that there are none.
func wantsSettings(f ddl.Filter) bool { return f.Says("ttl") }

// settings reads our settings, and waits for those who want them as long as for any statement of ours.
func (a *admin) settings(ctx context.Context, f ddl.Filter) (setting.Values, error) {
	wait := settingsWait
	if wantsSettings(f) {
		wait = adminWait
	}

	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	values, err := a.q.store.Settings(ctx)
	return values.Shown(), err
}

// pick lets the server choose those of our settings that a filter lets through.
func (a *admin) pick(settings setting.Values, f ddl.Filter) ([][]any, error) {
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
