package statement

import (
	"context"
	"errors"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// deferred is a statement of ours that the server has prepared without our clauses. Every EXECUTE
// does the rest.
type deferred struct {
	st *ddl.Statement
	binding
}

// binding is how the session stood when a statement was prepared. To the schema of then the server
// binds its names, and under the settings of then they were read.
type binding struct {
	schema string
	mode   ddl.Mode
}

// Size is about how many bytes of memory it takes.
func (d *deferred) Size() int64 { return int64(d.st.Size()) }

// ByName says that the server runs the text by its number alone: the name belongs to our mark.
func (d *deferred) ByName() bool { return false }

// Parameterised refuses a policy that the server would declare without us.
func (d *deferred) Parameterised() error {
	if d.st.Clause() == nil {
		return nil
	}
	return refuse("a statement with a TTL and parameters cannot be prepared under a name: leave the parameters out, " +
		"or prepare it with the driver")
}

func (s *situation) binding() binding { return binding{schema: s.schema, mode: s.mode} }

// bound is the situation for a statement that was prepared under b: of now, but with the schema of
// then. A text that would be read otherwise now is refused, since the server may read it again.
func (s *situation) bound(b binding, x *proxy.Exchange, st *ddl.Statement) (*situation, error) {
	then, now := b.mode, s.mode
	same := then.Charset == now.Charset && then.ANSIQuotes == now.ANSIQuotes &&
		then.NoBackslashEscapes == now.NoBackslashEscapes
	if !same && len(readings(st.Text(), x.MariaDB())) > 1 ||
		s.current != b.schema && !ddl.Spells(b.schema, now.Charset) {
		return nil, needsPrepare("character set or SQL mode")
	}
	bound := *s
	bound.schema = b.schema
	return &bound, nil
}

// needsPrepare is ER_NEED_REPREPARE.
func needsPrepare(setting string) error {
	return &wire.Error{
		Code: ddl.CodeReprepare, State: "HY000",
		Message: "Prepared statement needs to be re-prepared: the session's " + setting + " was another one",
	}
}

// prepare prepares the cut text. A clause that is wrong is refused now, everything else at EXECUTE.
func (h *Handler) prepare(ctx context.Context, x *proxy.Exchange, st *ddl.Statement, s *situation) error {
	switch {
	case st.Err != nil:
		return refusal(st.Err)
	case st.Action == nil:
		_, err := x.Pass()
		return err
	}

	a := &admin{&turn{Handler: h, x: x, st: st, situation: s, alone: true}}
	if err := a.agree(st); err != nil {
		return err
	}
	if done, err := a.answer(ctx, x, st); done || err != nil {
		return err
	}

	_, err := x.Prepare(st.Forward(), &deferred{st: st, binding: s.binding()})
	return err
}

// execute carries out a statement prepared before, in the situation of now.
func (h *Handler) execute(ctx context.Context, x *proxy.Exchange) error {
	if text, ok := x.Memo().(warningsMemo); ok {
		return showWarnings(x, string(text))
	}
	if x.Memo() == nil {
		_, err := x.Pass()
		return err
	}

	h.Store = h.Catalog()
	if d, ok := x.Memo().(*deferred); ok && concernOfOne(d.st, x) == follows {
		mentioned, err := h.mentioned(ctx, d.st.Text())
		if err != nil {
			return (&turn{Handler: h, x: x, st: d.st, prepared: true}).withoutCatalog(ctx, err)
		}
		if !mentioned {
			_, err := x.Pass()
			return err
		}
	}

	s, err := readSituation(x)
	if err != nil {
		return err
	}

	switch m := x.Memo().(type) {
	case *deferred:
		return m.run(ctx, h, x, s, m.st.Action)
	case *adminMemo:
		return m.run(ctx, h, x, s)
	}

	return errNotOurs
}

// run does what the statement asks for, where the server is given the command as it came.
func (d *deferred) run(ctx context.Context, h *Handler, x *proxy.Exchange, s *situation, action ddl.Action) error {
	s, err := s.bound(d.binding, x, d.st)
	if err != nil {
		return err
	}
	t := &turn{Handler: h, x: x, st: d.st, situation: s, alone: true, prepared: true}
	return t.act(ctx, action)
}

// prepareNamed is PREPARE name FROM text. Whatever had the name before is gone, also if this one
// fails.
func (t *turn) prepareNamed(ctx context.Context, a *ddl.Prepare) error {
	if err := t.x.Forget(a.Name); err != nil {
		return err
	}

	inner, err := t.inner(a.Dynamic)
	if err != nil {
		return err
	}
	if inner != nil && inner.Err != nil {
		_, _ = t.x.Ask("DEALLOCATE PREPARE " + ddl.Encode(ddl.Quote(a.Name), t.mode.Charset))
		return refusal(inner.Err)
	}
	if _, warnings := actionOf(inner).(*ddl.ShowWarnings); inner == nil || warnings {
		return t.pass() // EXECUTE asks the session first, so that warnings would be those of our question
	}

	return t.x.Naming(a.Name, t.mode, func() error { return t.prepare(ctx, t.x, inner, t.situation) })
}

// immediate is EXECUTE IMMEDIATE text.
func (t *turn) immediate(ctx context.Context, a *ddl.Immediate) error {
	inner, err := t.inner(a.Dynamic)
	switch {
	case err != nil:
		return err
	case inner == nil:
		return t.pass()
	case inner.Err != nil:
		return refusal(inner.Err)
	}

	if err := t.agree(inner); err != nil {
		return err
	}
	if done, err := (&admin{t}).answer(ctx, t.x, inner); done || err != nil {
		return err
	}

	return t.act(ctx, inner.Action)
}

// inner reads the statement inside one. For a text that is computed the session is asked, and asked
// once more by the server if the statement does not concern us.
func (t *turn) inner(d ddl.Dynamic) (*ddl.Statement, error) {
	switch {
	case d.Expression == "":
		return d.Inner, nil
	case !t.x.MariaDB() && d.Expression[0] != '@':
		return nil, nil //nolint:nilnil // the server refuses it
	}

	text, err := t.x.AskValues(proxy.SelectValues(d.Expression))
	if _, refused := errors.AsType[*wire.Error](err); refused {
		return nil, nil //nolint:nilnil // the server says why
	}
	if err != nil {
		return nil, err
	}

	return t.st.Resolve(d, text[0]), nil
}

func actionOf(st *ddl.Statement) ddl.Action {
	if st == nil {
		return nil
	}
	return st.Action
}

// executeNamed is EXECUTE name. What is behind a name the server says.
func (t *turn) executeNamed(ctx context.Context, a *ddl.Execute) error {
	meant := t.x.Named(a.Name)
	if len(meant) == 0 {
		return t.pass()
	}

	h, err := t.hold()
	if err != nil {
		return err
	}

	n, err := t.marked(h, meant)
	if err != nil {
		return err
	}
	if n == nil {
		return t.x.Send(h)
	}

	return t.executeMarked(ctx, a, n)
}

// executeMarked runs a statement of ours that was prepared under a name.
func (t *turn) executeMarked(ctx context.Context, a *ddl.Execute, n *proxy.Named) (err error) {
	run := &turn{Handler: t.Handler, x: t.x, alone: t.alone}
	switch m := n.Memo.(type) {
	case *deferred:
		if run.situation, err = t.bound(m.binding, t.x, m.st); err != nil {
			return err
		}
		run.st, run.again = m.st, func() (*proxy.Held, error) { return run.holdDeferred(m, n) }
		return run.act(ctx, m.st.Action)
	case *adminMemo:
		if run.situation, err = t.bound(m.binding, t.x, m.statement); err != nil {
			return err
		}
		t.st.ExecuteAs(a, n.Own())
		run.st = t.st
		return (&admin{run}).execute(ctx, t.x, m)
	}

	return errNotOurs
}

// holdDeferred runs the text behind a name, and keeps the answer. Rows would come in the form of
// the other protocol, so what has them is sent anew, which means the same only in the schema of
// then.
func (t *turn) holdDeferred(d *deferred, n *proxy.Named) (*proxy.Held, error) {
	if !returnsRows(d.st.Action) {
		return t.x.HoldNamed(n)
	}
	if t.current != d.schema {
		return nil, needsPrepare("schema")
	}
	return t.x.Hold(d.st.Forward())
}

func returnsRows(action ddl.Action) bool {
	switch a := action.(type) {
	case *ddl.ShowCreateTable:
		return true
	case *ddl.ChangeTables:
		return a.Verb == "OPTIMIZE" || a.Verb == "REPAIR"
	}
	return false
}

// deallocate is DEALLOCATE PREPARE name.
func (t *turn) deallocate(a *ddl.Deallocate) error {
	if err := t.x.Forget(a.Name); err != nil {
		return err
	}
	return t.pass()
}
