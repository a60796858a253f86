package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// listWriter prints a list in one of the forms of --format.
func listWriter(form string) func(io.Writer, report.List) error {
	switch form {
	case "json":
		return func(w io.Writer, l report.List) error { return writeJSON(w, objects(l)) }
	case "vertical":
		return writeVertical
	default:
		return writeTable
	}
}

// writeVertical prints a list with each value on a line of its own.
func writeVertical(w io.Writer, l report.List) error {
	width := 0
	for _, c := range l.Columns {
		width = max(width, len(c.Name))
	}

	for i, r := range l.Rows {
		fmt.Fprintf(w, "*** %d ***\n", i+1)
		for k, v := range r.Values {
			if _, err := fmt.Fprintf(w, "%*s: %s\n", width, l.Columns[k].Name, cellText(v)); err != nil {
				return err
			}
		}
	}

	return nil
}

// writeTable prints a list in columns.
func writeTable(w io.Writer, l report.List) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	names := make([]string, len(l.Columns))
	for i, c := range l.Columns {
		names[i] = strings.ToUpper(c.Name)
	}

	fmt.Fprintln(t, strings.Join(names, "\t"))
	for _, r := range l.Rows {
		cells := make([]string, len(r.Values))
		for i, v := range r.Values {
			cells[i] = cellText(v)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}

	return t.Flush()
}

// cellText is a value as a cell shows it, on one line.
func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case time.Time:
		return catalog.Moment(v)
	case float64:
		return fmt.Sprintf("%.1f", v)
	default:
		return visible(strings.Join(strings.Fields(fmt.Sprint(v)), " "))
	}
}

// objects are the rows of a list as JSON shows them.
func objects(l report.List) []map[string]any {
	all := make([]map[string]any, len(l.Rows))
	for i, r := range l.Rows {
		all[i] = make(map[string]any, len(r.Values))
		for k, v := range r.Values {
			all[i][strings.ToLower(l.Columns[k].Name)] = v
		}
	}
	return all
}

// overviewJSON is everything of the overview for scripts.
func overviewJSON(ctx context.Context, w io.Writer, _ screen, store report.Store) error {
	all := map[string]any{}
	for _, name := range []ddl.List{ddl.ListTables, ddl.ListJobs, ddl.ListNodes} {
		l, err := report.Load(ctx, store, name, catalog.Filter{})
		if err != nil {
			return err
		}
		all[strings.ToLower(string(name))] = objects(l)
	}

	l, err := report.Load(ctx, store, ddl.ListStatus, catalog.Filter{})
	if err != nil {
		return err
	}

	status := map[string]any{}
	for _, r := range l.Rows {
		status[strings.ToLower(fmt.Sprint(r.Values[0]))] = r.Values[1]
	}

	all["status"] = status
	return writeJSON(w, all)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
