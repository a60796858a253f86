package statement

import (
	"context"
	"errors"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// memo is a statement of ours that the server has prepared in another form: without our clauses, or
// as what an admin statement is answered with. Every EXECUTE does the rest.
//
// With it is how the session stood then: to the schema of then the server binds its names, and
// under the settings of then they were read.
type memo struct {
	st     *ddl.Statement
	schema string
	mode   ddl.Mode
	admin  bool // it is answered here, and the server makes the answer's form
}

func (q *request) memo(st *ddl.Statement, admin bool) *memo {
	return &memo{st: st, schema: q.session.schema, mode: q.session.mode, admin: admin}
}

// Size is about how many bytes of memory it takes.
func (m *memo) Size() int64 { return int64(m.st.Size()) }

// ByName reports whether EXECUTE needs a name for what the server answers with. Any other text the
// server runs by its number alone: the name belongs to our mark.
func (m *memo) ByName() bool { return m.admin }

// Parameterised refuses a policy that the server would declare without us.
func (m *memo) Parameterised() error {
	if m.admin || m.st.Clause() == nil {
		return nil
	}
	return refuse("a statement with a TTL and parameters cannot be prepared under a name: leave the parameters out, " +
		"or prepare it with the driver")
}

// bound is the situation for a statement that was prepared: of now, but with the schema of then. A
// text that would be read otherwise now is refused, since the server may read it again.
func (s *situation) bound(m *memo) (*situation, error) {
	then, now := m.mode, s.mode
	same := then.Charset == now.Charset && then.ANSIQuotes == now.ANSIQuotes &&
		then.NoBackslashEscapes == now.NoBackslashEscapes
	if !same && len(readings(m.st.Text(), now.MariaDB)) > 1 ||
		s.current != m.schema && !ddl.Spells(m.schema, now.Charset) {
		return nil, needsPrepare("character set or SQL mode")
	}
	bound := *s
	bound.schema = m.schema
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
func (q *request) prepare(ctx context.Context) error {
	switch {
	case q.st.Err != nil:
		return refusal(q.st.Err)
	case q.st.Action == nil:
		_, err := q.x.Pass()
		return err
	}

	if err := q.agree(q.st); err != nil {
		return err
	}
	if done, err := (&admin{q}).answer(ctx, q.st); done || err != nil {
		return err
	}

	_, err := q.x.Prepare(q.st.Forward(), q.memo(q.st, false))
	return err
}

// execute carries out a prepared statement in the present situation.
func (h *Handler) execute(ctx context.Context, x *proxy.Exchange) error {
	if text, ok := x.Memo().(warningsMemo); ok {
		return showWarnings(x, string(text))
	}
	if x.Memo() == nil {
		_, err := x.Pass()
		return err
	}

	m, ok := x.Memo().(*memo)
	if !ok {
		return errNotOurs
	}

	store := h.config.Catalog()
	if !m.admin && concernOfOne(m.st, x) == follows {
		found, err := h.mentioned(ctx, store, m.st.Text())
		if err != nil {
			return (&request{h: h, x: x, st: m.st, prepared: true}).withoutCatalog(ctx, err)
		}
		if !found {
			_, err := x.Pass()
			return err
		}
	}

	now, err := readSituation(x)
	if err != nil {
		return err
	}
	bound, err := now.bound(m)
	if err != nil {
		return err
	}

	q := &request{h: h, store: store, x: x, session: bound, st: m.st, alone: true, prepared: true}
	if m.admin {
		return (&admin{q}).execute(ctx, m.st)
	}
	return q.act(ctx, m.st.Action)
}

// prepareNamed is PREPARE name FROM text. Whatever had the name before is gone, even if this one
// fails.
func (q *request) prepareNamed(ctx context.Context, a *ddl.Prepare) error {
	if err := q.x.Forget(a.Name); err != nil {
		return err
	}

	inner, err := q.inner(a.Dynamic)
	if err != nil {
		return err
	}
	if inner != nil && inner.Err != nil {
		_, _ = q.x.Ask("DEALLOCATE PREPARE " + ddl.Encode(ddl.Quote(a.Name), q.session.mode.Charset))
		return refusal(inner.Err)
	}
	if _, warnings := actionOf(inner).(*ddl.ShowWarnings); inner == nil || warnings {
		return q.pass() // EXECUTE asks the session first, so that warnings would be those of our question
	}

	named := &request{h: q.h, store: q.store, x: q.x, session: q.session, st: inner, alone: true}
	return q.x.Naming(a.Name, q.session.mode, func() error { return named.prepare(ctx) })
}

// immediate is EXECUTE IMMEDIATE text.
func (q *request) immediate(ctx context.Context, a *ddl.Immediate) error {
	inner, err := q.inner(a.Dynamic)
	switch {
	case err != nil:
		return err
	case inner == nil:
		return q.pass()
	case inner.Err != nil:
		return refusal(inner.Err)
	}

	if err := q.agree(inner); err != nil {
		return err
	}
	if done, err := (&admin{q}).answer(ctx, inner); done || err != nil {
		return err
	}

	return q.act(ctx, inner.Action)
}

// inner reads the statement inside one. The session evaluates a computed text, and the server does
// so again if the statement does not concern us.
func (q *request) inner(d ddl.Dynamic) (*ddl.Statement, error) {
	switch {
	case d.Expression == "":
		return d.Inner, nil
	case !q.x.MariaDB() && d.Expression[0] != '@':
		return nil, nil //nolint:nilnil // the server refuses it
	}

	text, err := q.x.AskValues(proxy.SelectValues(d.Expression))
	if _, refused := errors.AsType[*wire.Error](err); refused {
		return nil, nil //nolint:nilnil // the server says why
	}
	if err != nil {
		return nil, err
	}

	return q.st.Resolve(d, text[0]), nil
}

func actionOf(st *ddl.Statement) ddl.Action {
	if st == nil {
		return nil
	}
	return st.Action
}

// executeNamed is EXECUTE name. The server says what a name stands for.
func (q *request) executeNamed(ctx context.Context, a *ddl.Execute) error {
	meant := q.x.Named(a.Name)
	if len(meant) == 0 {
		return q.pass()
	}

	h, err := q.hold()
	if err != nil {
		return err
	}

	n, err := q.marked(h, meant)
	if err != nil {
		return err
	}
	if n == nil {
		return q.x.Send(h)
	}

	return q.executeMarked(ctx, a, n)
}

// executeMarked runs a statement of ours that was prepared under a name.
func (q *request) executeMarked(ctx context.Context, a *ddl.Execute, n *proxy.Named) error {
	m, ok := n.Memo.(*memo)
	if !ok {
		return errNotOurs
	}
	bound, err := q.session.bound(m)
	if err != nil {
		return err
	}

	if m.admin {
		q.st.ExecuteAs(a, n.Own())
		run := &request{h: q.h, store: q.store, x: q.x, session: bound, st: q.st, alone: q.alone}
		return (&admin{run}).execute(ctx, m.st)
	}

	run := &request{h: q.h, store: q.store, x: q.x, session: bound, st: m.st, alone: q.alone, named: n}
	return run.act(ctx, m.st.Action)
}

// holdNamed runs the text behind a name, and keeps the answer. Rows would come in the form of the
// other protocol, so a statement with rows is sent again as text, which means the same only in the
// schema of that time.
func (q *request) holdNamed() (*proxy.Held, error) {
	if !returnsRows(q.st.Action) {
		return q.x.HoldNamed(q.named)
	}
	if q.session.current != q.session.schema {
		return nil, needsPrepare("schema")
	}
	return q.x.Hold(q.st.Forward())
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
func (q *request) deallocate(a *ddl.Deallocate) error {
	if err := q.x.Forget(a.Name); err != nil {
		return err
	}
	return q.pass()
}
