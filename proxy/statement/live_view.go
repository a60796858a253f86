package statement

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// viewOf is the view that a rule keeps beside its table, and false if it keeps none.
func viewOf(table catalog.Table, rule catalog.Rule) (catalog.Table, bool) {
	name := rule.Options[ddl.OptionView]
	return catalog.Table{Schema: table.Schema, Name: name}, name != ""
}

// withoutView is the rule of a copy: the view stays with the table that it was made for.
func withoutView(rule catalog.Rule) catalog.Rule {
	rule.Options = maps.Clone(rule.Options)
	delete(rule.Options, ddl.OptionView)
	return rule
}

// checkView refuses, before anything has happened, a view whose name something else has. A dump
// loses only its view by that: its table comes all the same.
func (q *request) checkView(ctx context.Context, table catalog.Table, clause *ddl.Clause, rule *catalog.Rule) error {
	if clause == nil || clause.Options[ddl.OptionView] == "" {
		return nil
	}

	view, _ := viewOf(table, *rule)
	err := q.mayHave(ctx, view, table)
	if err != nil && clause.Commented && !errors.Is(err, errCatalog) {
		*rule = withoutView(*rule)
		q.warn(view.String() + " was not made: " + textOf(err))
		return nil
	}

	return err
}

// mayHave says why a table cannot have a view of this name.
func (q *request) mayHave(ctx context.Context, view, table catalog.Table) error {
	known, err := q.liveView(ctx, view)
	if err != nil {
		return err
	}
	if known != nil && !q.store.SameTable(known.Table, table) {
		if p, err := q.store.Policy(ctx, known.Table); err == nil {
			if other, keeps := viewOf(p.Table, p.Rule); keeps && q.store.SameTable(other, view) {
				return nameTaken(view)
			}
		}
	}

	exists, err := q.viewToReplace(view, known)
	if err != nil || exists {
		return err
	}
	what, err := q.resolve(ddl.Name{Schema: view.Schema, Table: view.Name})
	if err == nil && what == baseTable {
		return nameTaken(view)
	}

	return err
}

func nameTaken(view catalog.Table) error {
	return &wire.Error{
		Code: ddl.CodeTableExists, State: "42S01",
		Message: "Table '" + view.Name + "' already exists: TTL_VIEW makes a view of its own, and replaces none",
	}
}

// liveView is what is remembered of a view; nil if it is none of ours.
func (q *request) liveView(ctx context.Context, view catalog.Table) (*catalog.LiveView, error) {
	all, err := q.store.LiveViews(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	i := slices.IndexFunc(all, func(v catalog.LiveView) bool { return q.store.SameTable(v.View, view) })
	if i < 0 {
		return nil, nil //nolint:nilnil // not ours is no error
	}
	return &all[i], nil
}

// viewToReplace reports whether there is such a view. It is an error if that is not the one that we
// made: we replace and drop nothing else.
func (q *request) viewToReplace(view catalog.Table, known *catalog.LiveView) (exists bool, err error) {
	found, err := q.seeView(view)
	switch {
	case err != nil || !found.exists:
		return false, err
	case known == nil:
		return true, nameTaken(view)
	case found.text == "":
		return true, refuse("ttlproxy: you may not see the definition of %s, which has to be the one that TTL_VIEW "+
			"made: GRANT SHOW VIEW on it", view)
	case found.security != "INVOKER" || found.checks != "NONE" ||
		catalog.HashDefinition(found.text) != known.Definition:
		return true, refuse("ttlproxy: the view %s is not the one that TTL_VIEW made: DROP VIEW, or rename it", view)
	}
	return true, nil
}

// seenView is a view as the client may see it. The definition says neither whose rights it is read with, nor what may
// be written through it.
type seenView struct {
	exists   bool
	text     string // its definition; empty if the client may not see it
	security string // whose rights: INVOKER, the reader's
	checks   string // WITH … CHECK OPTION; NONE without one
}

func (q *request) seeView(view catalog.Table) (seenView, error) {
	r, err := q.x.Ask("SELECT CAST(CONVERT(VIEW_DEFINITION USING utf8mb4) AS BINARY), CAST(SECURITY_TYPE AS BINARY), " +
		"CAST(CHECK_OPTION AS BINARY) FROM information_schema.VIEWS " +
		"WHERE TABLE_SCHEMA = " + literal(view.Schema) + " AND TABLE_NAME = " + literal(view.Name) + " LIMIT 1")
	if err != nil || len(r.Rows) == 0 {
		return seenView{}, err
	}
	row := r.Rows[0]
	return seenView{exists: true, text: string(row[0]), security: string(row[1]), checks: string(row[2])}, nil
}

// makeView makes the view of a rule, or makes it anew, on the client's own connection and with its
// rights.
func (q *request) makeView(ctx context.Context, table catalog.Table, rule catalog.Rule) error {
	view, wanted := viewOf(table, rule)
	if !wanted {
		return nil
	}
	if q.session.number != "" {
		return refuse("ttlproxy: the next transaction of this session has a number, which a view cannot have")
	}
	if err := q.mayHave(ctx, view, table); err != nil {
		return err
	}

	before, err := q.seeView(view)
	if err != nil {
		return err
	}
	text, err := q.viewText(ctx, view, table, rule, before.exists)
	if err != nil {
		return err
	}
	if _, err := q.x.Ask(text); err != nil {
		return err
	}

	made, err := q.seeView(view)
	if err == nil && made.text == "" {
		err = refuse("ttlproxy: TTL_VIEW needs the rights CREATE VIEW, SHOW VIEW and DROP on %s", view)
	}
	if err == nil {
		err = q.store.KeepLiveView(ctx, q.session.account,
			catalog.LiveView{View: view, Table: table, Definition: catalog.HashDefinition(made.text)})
	}
	if err == nil {
		return nil
	}

	// Nothing of it is noted: it would not be known as ours any more, and shows what a rule says that is not in force.
	if !before.exists {
		return errors.Join(err, q.dropView(view))
	}
	back, failed := q.spelled(createView(view, before.text, before.exists))
	if failed == nil {
		_, failed = q.x.Ask(back)
	}
	return errors.Join(err, failed)
}

// viewText is the statement that makes a view.
func (q *request) viewText(ctx context.Context, view, table catalog.Table, rule catalog.Rule, replaces bool,
) (string, error) {
	living, err := q.living(ctx, table, rule)
	if err != nil {
		return "", err
	}
	return q.spelled(createView(view, "SELECT * FROM "+table.String()+" WHERE "+living, replaces))
}

func createView(view catalog.Table, definition string, replaces bool) string {
	create := "CREATE "
	if replaces {
		create = "CREATE OR REPLACE "
	}
	return create + "SQL SECURITY INVOKER VIEW " + view.String() + " AS " + definition
}

// living is the condition of the rows that have not expired under a rule.
func (q *request) living(ctx context.Context, table catalog.Table, rule catalog.Rule) (string, error) {
	terms, err := rule.Terms()
	if err != nil {
		return "", err
	}
	values, err := q.store.Values(ctx)
	if err != nil {
		return "", unavailable(err)
	}
	now, err := q.store.Clock(ctx)
	if err != nil {
		return "", unavailable(err)
	}

	columns, err := tables.ReadColumns(ctx, q.h.config.DB, table.Schema, table.Name)
	if err != nil {
		return "", err
	}
	i := ddl.IndexNamed(columns, func(c tables.Column) string { return c.Name }, rule.Column)
	if i < 0 {
		return "", refusal(ddl.UnknownColumn(rule.Column))
	}

	living, err := plan.Living(terms, columns[i], values[setting.DateFloor], now)
	if err != nil {
		return "", refuse("ttlproxy: no view can show which rows live: %v", err)
	}
	return living, nil
}

func (q *request) dropView(view catalog.Table) error {
	text, err := q.spelled("DROP VIEW " + view.String())
	if err == nil {
		_, err = q.x.Ask(text)
	}
	return err
}

// followViews makes the views of tables what their policies say, after a statement has changed
// either. The statement has been carried out, so trouble is a warning.
func (q *request) followViews(ctx context.Context, changed []catalog.Table) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), catalogWait)
	defer cancel()

	for _, p := range q.dropUnkept(ctx, changed) {
		if err := q.makeView(ctx, p.Table, p.Rule); err != nil {
			q.warn("TTL_VIEW of " + p.Table.String() + " shows the table as it was, or nothing: " + textOf(err))
		}
	}
}

// dropUnkept drops the views of changed tables that no policy keeps any more, and returns the
// policies that keep one.
func (q *request) dropUnkept(ctx context.Context, changed []catalog.Table) []catalog.Policy {
	all, err := q.store.LiveViews(ctx)
	if err != nil {
		q.h.log.LogAttrs(ctx, slog.LevelWarn, "the views of TTL_VIEW cannot be read", slog.Any("err", err))
		return nil
	}

	keepers, unknown := q.keepers(ctx, changed)
	keeps := func(p catalog.Policy, v catalog.LiveView) bool {
		view, _ := viewOf(p.Table, p.Rule)
		return q.store.SameTable(view, v.View)
	}

	unkept := slices.DeleteFunc(all, func(v catalog.LiveView) bool {
		ours := func(t catalog.Table) bool { return q.store.SameTable(t, v.Table) }
		return !slices.ContainsFunc(changed, ours) || slices.ContainsFunc(unknown, ours) ||
			slices.ContainsFunc(keepers, func(p catalog.Policy) bool { return keeps(p, v) })
	})

	if len(unkept)+len(keepers) > 0 {
		q.keepWarnings()
	}
	for _, v := range unkept {
		q.endView(ctx, v)
	}

	return keepers
}

// keepers are the policies of tables that keep a view, and the tables of which nobody knows now whether theirs does. A
// dormant one leaves it to the table that it is a copy of.
func (q *request) keepers(ctx context.Context, of []catalog.Table) (all []catalog.Policy, unknown []catalog.Table) {
	for _, table := range of {
		p, err := q.store.Policy(ctx, table)
		if err != nil && !errors.Is(err, catalog.ErrNoPolicy) {
			unknown = append(unknown, table)
			q.warn("a TTL_VIEW of " + table.String() + " stays as it is: " + words(err))
			continue
		}
		if _, keeps := viewOf(p.Table, p.Rule); err == nil && keeps && p.State != catalog.PolicyDormant {
			all = append(all, p)
		}
	}
	return all, unknown
}

// endView drops a view, if it still is the one that we made, and forgets it.
func (q *request) endView(ctx context.Context, v catalog.LiveView) {
	exists, err := q.viewToReplace(v.View, &v)
	if err == nil && exists {
		err = q.dropView(v.View)
	}
	if err != nil {
		q.warn("the view " + v.View.String() + " that TTL_VIEW made stays: " + textOf(err))
	}
	if err := q.store.ForgetLiveView(ctx, v.View); err != nil {
		q.h.log.LogAttrs(ctx, slog.LevelWarn, "a view of TTL_VIEW that is gone stays listed", slog.Any("err", err))
	}
}

// textOf is an error for people.
func textOf(err error) string {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// keepWarnings keeps those of the server's about the client's statement, before others replace them in the session:
// those about statements of ours, of which some name what the client may not see. Its OK has counted them already.
func (q *request) keepWarnings() {
	if q.kept {
		return
	}
	r, err := q.x.Ask("SHOW WARNINGS")
	if err != nil {
		return
	}
	q.kept = true
	for _, row := range r.Rows {
		code, _ := strconv.ParseUint(string(row[1]), 10, 16)
		q.counted = append(q.counted, proxy.Note{Level: string(row[0]), Code: uint16(code), Message: string(row[2])})
	}
}
