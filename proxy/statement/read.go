package statement

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// readNames answers a statement that reads our settings or TiDB's tables: they are replaced in
// place, by their values and by derived tables over the rows that this client may see, and the
// server does the rest.
func (a *admin) readNames(ctx context.Context, st *ddl.Statement, s *ddl.ReadNames) error {
	refs, err := ourReferences(s, a.q.session.schema)
	if err != nil {
		return err
	}

	prepare := a.q.x.Preparing()
	switch {
	case len(refs) == 0 && prepare:
		_, err := a.q.x.Prepare(st.Text(), nil)
		return err
	case len(refs) == 0:
		_, err := a.q.x.Forward(st.Text())
		return err
	}

	values, err := a.valuesOf(ctx, refs)
	if err != nil {
		return err
	}

	if prepare {
		if err := setVariables(a.q.x, values); err != nil {
			return err
		}
		for name := range values {
			values[name] = readVariable(name)
		}
	}

	text := st.Substitute(refs, func(ref ddl.Reference, spelled string) string {
		return substitute(ref, spelled, values[ref.Variable+ref.Table])
	})
	if prepare {
		_, err = a.q.x.Prepare(text, a.q.memo(st, true))
		return err
	}
	if err := fits(a.q.x, text); err != nil {
		return err
	}
	_, err = a.q.x.Forward(text)
	return err
}

// executeRead runs a prepared statement that reads names of ours.
func (a *admin) executeRead(ctx context.Context, s *ddl.ReadNames) error {
	refs, err := ourReferences(s, a.q.session.schema)
	if err != nil {
		return err
	}
	values, err := a.valuesOf(ctx, refs)
	if err != nil {
		return err
	}
	if err := setVariables(a.q.x, values); err != nil {
		return err
	}
	return a.q.pass()
}

// setVariables puts what a prepared statement reads into user variables.
func setVariables(x *proxy.Exchange, values map[string]string) error {
	var assignments []string
	for name, value := range values {
		assignments = append(assignments, readVariable(name)+" = "+value)
	}
	slices.Sort(assignments)
	text := "SET " + strings.Join(assignments, ", ")
	if err := fits(x, text); err != nil {
		return err
	}
	_, err := x.Ask(text)
	return err
}

func readVariable(name string) string { return "@`ttlproxy " + name + "`" }

// ourReferences leaves out what the server has to answer for: variables that nobody knows, and
// tables of other schemas.
func ourReferences(s *ddl.ReadNames, schema string) ([]ddl.Reference, error) {
	var refs []ddl.Reference
	for _, ref := range s.References {
		if ref.Column != "" {
			refs = append(refs, ref)
		}
		if ref.Table != "" && (ref.Qualified || schema == "mysql") {
			refs = append(refs, ref)
		}
		if ref.Variable == "" {
			continue
		}
		if _, known := setting.Find(ref.Variable); !known {
			continue
		}
		if ref.Scope == ddl.ScopeSession {
			return nil, &wire.Error{
				Code: ddl.CodeNotSession, State: "HY000",
				Message: "Variable '" + ref.Variable + "' is a GLOBAL variable",
			}
		}

		refs = append(refs, ref)
	}

	return refs, nil
}

// valuesOf reads everything that is referred to: a setting as a literal, a table as its rows in
// JSON.
func (a *admin) valuesOf(ctx context.Context, refs []ddl.Reference) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, adminWait)
	defer cancel()

	values := map[string]string{}
	var settings setting.Values
	for _, ref := range refs {
		name := ref.Variable + ref.Table
		if _, done := values[name]; done || name == "" {
			continue
		}

		if ref.Table != "" {
			l, err := a.tidbTable(ctx, ref.Table)
			if err != nil {
				return nil, err
			}
			values[name] = literalRows(&l)
			continue
		}

		if settings == nil {
			all, err := a.q.store.Settings(ctx)
			if err != nil {
				return nil, err
			}
			settings = all.Shown()
		}

		values[name] = settingLiteral(ref.Variable, settings)
	}

	return values, nil
}

// settingLiteral writes a setting as the servers show their own: numbers and booleans as numbers. What this version
// does not understand is the text that it is.
func settingLiteral(name string, values setting.Values) string {
	s, _ := setting.Find(name)
	value := values[s.Name]
	switch n, err := strconv.ParseInt(value, 10, 64); {
	case s.Kind == setting.KindBool && value == "ON":
		return "1"
	case s.Kind == setting.KindBool && value == "OFF":
		return "0"
	case s.Kind == setting.KindInt && err == nil:
		return strconv.FormatInt(n, 10)
	default:
		return literal(value)
	}
}

// tidbTable reads one of TiDB's tables, as far as the client may see it.
func (a *admin) tidbTable(ctx context.Context, name string) (l report.List, err error) {
	s, err := report.Read(ctx, a.q.store)
	if err != nil {
		return l, err
	}

	switch name {
	case "tidb_ttl_table_status":
		l = report.TiDBTableStatus(s)
	case "tidb_ttl_task":
		tasks, err := a.q.store.Tasks(ctx)
		if err != nil {
			return l, err
		}
		l = report.TiDBTask(s, tasks)
	default:
		ended, err := a.q.store.History(ctx, catalog.Filter{Limit: maxList})
		if err != nil {
			return l, err
		}
		l = report.TiDBHistory(s, ended)
	}

	return l, a.censor(ctx, &l)
}

// substitute is what stands in a statement in place of a reference.
func substitute(ref ddl.Reference, spelled, value string) string {
	switch {
	case ref.Column != "":
		return " AS " + ddl.Quote(ref.Column)
	case ref.Variable != "" && ref.Item:
		return value + " AS " + ddl.Quote(spelled) // the column keeps its name
	case ref.Variable != "":
		return value
	case ref.Prefix:
		return ddl.Quote(ref.Table)
	}

	table := "(" + selectRows(report.TiDBColumns(ref.Table), value) + ")"
	if !ref.Aliased {
		table += " AS " + ddl.Quote(ref.Table)
	}

	return table
}
