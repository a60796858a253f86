package proxy

import (
	"context"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// deferred is a statement of ours that the server has prepared without our clauses. Every EXECUTE does the rest.
type deferred struct {
	st     *ddl.Statement
	schema string // the current one when it was prepared, to which the server has bound its names
}

// prepare prepares the cut text. A clause that is wrong is refused now, everything else at EXECUTE.
func (h *statements) prepare(ctx context.Context, x *exchange, st *ddl.Statement, s *situation) error {
	switch {
	case st.Err != nil:
		return refusal(st.Err)
	case st.Action == nil:
		_, err := x.Pass()
		return err
	}
	a := &admin{&turn{statements: h, x: x, st: st, situation: s, alone: true}}
	if done, err := a.answer(ctx, x, st); done || err != nil {
		return err
	}
	_, err := x.Prepare(st.Forward(), &deferred{st: st, schema: s.schema})
	return err
}

// execute carries out a statement prepared before, in the situation of now.
func (h *statements) execute(ctx context.Context, x *exchange) error {
	if text, ok := x.Memo().(warningsMemo); ok {
		return showWarnings(x, string(text))
	}
	if x.Memo() == nil {
		_, err := x.Pass()
		return err
	}
	h.Store = h.Catalog()
	if d, ok := x.Memo().(*deferred); ok && concernOfOne(d.st, x) == follows && !h.mentioned(ctx, d.st.Text()) {
		_, err := x.Pass()
		return err
	}
	s, err := readSituation(x)
	if err != nil {
		return err
	}
	switch m := x.Memo().(type) {
	case refusedPrepare:
		return &wire.Error{Code: 1243, State: "HY000", Message: "Unknown prepared statement handler (4294967295) given to EXECUTE"}
	case *deferred:
		return m.run(ctx, h, x, s, m.st.Action)
	case *adminMemo:
		return m.run(ctx, h, x, s)
	}
	return errNotOurs
}

// run does what the statement asks for, where the server is given the command as it came.
func (d *deferred) run(ctx context.Context, h *statements, x *exchange, s *situation, action ddl.Action) error {
	s.schema = d.schema
	t := &turn{statements: h, x: x, st: d.st, situation: s, alone: true, prepared: true}
	return t.act(ctx, action)
}

// prepareNamed is PREPARE name FROM 'text'. Whatever had the name before is gone, also if this one fails.
func (t *turn) prepareNamed(a *ddl.Prepare) error {
	t.x.Forget(a.Name)
	if a.Inner == nil {
		return t.pass()
	}
	h, err := t.hold()
	if err != nil {
		return err
	}
	if !h.Failed() {
		t.x.Remember(a.Name, &deferred{st: a.Inner, schema: t.schema})
	}
	return t.x.Send(h)
}

// executeNamed is EXECUTE name.
func (t *turn) executeNamed(ctx context.Context, a *ddl.Execute) error {
	d, ok := t.x.Recall(a.Name).(*deferred)
	if !ok {
		return t.pass()
	}
	s := *t.situation
	s.schema = d.schema
	run := &turn{statements: t.statements, x: t.x, st: t.st, situation: &s, alone: t.alone}
	return run.act(ctx, d.st.Action)
}
