package statement

import (
	"context"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// admin answers the statements that no server knows: SHOW TTL …, RUN TTL JOB …, and the reads and
// writes of our settings.
//
//	           ┌ Query ───► run ─► reply ─► a SELECT over the rows as JSON, which the client's own server answers
//	statement ─┤ Prepare ─► the same SELECT over a user variable, or DO 0
//	           └ Execute ─► run ─► reply ─► the variable is set, the prepared SELECT runs
//
// Letting the server make the result set gives LIKE and WHERE, types, character sets, both
// protocols and cursors for the price of one small statement, and exactly as the client knows them.
type admin struct{ *turn }

// adminWait bounds how long a client waits for the catalog.
const adminWait = 5 * time.Second

// reply is what a statement of ours is answered with: rows, or an OK.
type reply struct {
	list     *report.List
	filter   ddl.Filter
	limit    uint64
	affected uint64
	info     string
	notes    []proxy.Note
}

// adminMemo is what EXECUTE of a prepared statement of ours needs.
type adminMemo struct {
	statement *ddl.Statement
	binding
}

// Size is about how many bytes of memory it takes.
func (m *adminMemo) Size() int64 { return int64(m.statement.Size()) }

// ByName says that EXECUTE needs a name for what the server answers with.
func (m *adminMemo) ByName() bool { return true }

// Parameterised lets the server have them.
func (m *adminMemo) Parameterised() error { return nil }

// memo remembers a statement with what its names mean now.
func (a *admin) memo(st *ddl.Statement) *adminMemo { return &adminMemo{st, a.binding()} }

// answer answers a statement. It returns false for one that is none of ours.
func (a *admin) answer(ctx context.Context, x *proxy.Exchange, st *ddl.Statement) (bool, error) {
	if e, ok := st.Action.(*ddl.ExplainTTL); ok {
		if describes, err := a.describesTable(e); describes || err != nil {
			return false, err
		}
	}

	if d, ok := st.Action.(*ddl.DescribeTiDB); ok && d.Table.Schema == "" && a.schema != "mysql" {
		return a.describeOther(ctx, x, d)
	}
	if handled, err := a.answerForServer(ctx, x, st); handled {
		return true, err
	}

	shape, ok := shapeOf(st.Action)
	if !ok {
		return false, nil
	}
	if x.Preparing() {
		_, err := x.Prepare(shape.prepared(), a.memo(st))
		return true, err
	}
	if err := checkCondition(x, st.Action); err != nil {
		return true, err
	}

	r, err := a.run(ctx, x, st.Action)
	if err != nil {
		return true, err
	}
	if r.list == nil {
		return true, a.ok(x, r)
	}
	if sent, err := a.sendList(x, r); sent || err != nil {
		return true, err
	}

	_, err = x.Forward(r.query(literalRows(r.list)))
	return true, err
}

// answerForServer answers the statements that are the server's but for a part of ours.
func (a *admin) answerForServer(ctx context.Context, x *proxy.Exchange, st *ddl.Statement) (handled bool, err error) {
	prepare := x.Preparing()
	switch s := st.Action.(type) {
	case *ddl.SetVariables:
		if prepare {
			return true, a.prepareSet(x, s, a.memo(st))
		}
		return true, a.set(ctx, x, s)
	case *ddl.ReadNames:
		return true, a.readNames(ctx, x, st, s)
	case *ddl.ShowVariables:
		if prepare {
			_, err = x.Prepare(st.Text(), a.memo(st))
			return true, err
		}
		return true, a.showVariables(ctx, x, st.Text(), s)
	case *ddl.ShowWarnings:
		if prepare {
			_, err = x.Prepare(st.Text(), a.memo(st))
			return true, err
		}
		return true, showWarnings(x, st.Text())
	}

	return false, nil
}

// run runs a prepared statement in the situation of now.
func (m *adminMemo) run(ctx context.Context, h *Handler, x *proxy.Exchange, s *situation) error {
	s, err := s.bound(m.binding, x, m.statement)
	if err != nil {
		return err
	}
	a := &admin{&turn{Handler: h, x: x, st: m.statement, situation: s, alone: true, prepared: true}}
	return a.execute(ctx, x, m)
}

// execute runs a prepared statement.
func (a *admin) execute(ctx context.Context, x *proxy.Exchange, m *adminMemo) error {
	switch s := m.statement.Action.(type) {
	case *ddl.SetVariables:
		return a.executeSet(ctx, x, s)
	case *ddl.ReadNames:
		return a.executeRead(ctx, x, s)
	case *ddl.ShowVariables:
		return a.showVariables(ctx, x, m.statement.Text(), s)
	case *ddl.ShowWarnings:
		return showWarnings(x, m.statement.Text())
	}

	r, err := a.run(ctx, x, m.statement.Action)
	if err != nil {
		return err
	}
	if r.list == nil {
		return a.ok(x, r)
	}
	if _, err := x.Ask("SET " + rowsVariable + " = " + literalRows(r.list)); err != nil {
		return err
	}

	return a.pass()
}

// run does what a statement asks for, and tells it in the session's time zone, without the names of
// tables that the client may not see.
func (a *admin) run(ctx context.Context, x *proxy.Exchange, action ddl.Action) (*reply, error) {
	x.Ours()
	r, err := a.act(ctx, x, action)
	if err != nil {
		return nil, localizeError(x, a.veilError(err))
	}
	if err := a.veil(&r.info); err != nil {
		return nil, err
	}
	return r, r.localize(x)
}

// act does what a statement asks for.
func (a *admin) act(ctx context.Context, x *proxy.Exchange, action ddl.Action) (*reply, error) {
	switch s := action.(type) {
	case *ddl.ShowTTL:
		return a.show(ctx, x, s)
	case *ddl.ExplainTTL:
		return a.explain(ctx, s)
	case *ddl.DescribeTiDB:
		r, _ := shapeOf(s)
		return r, nil
	case *ddl.RunJob:
		return a.runJob(ctx, x, s)
	case *ddl.CancelJob:
		return a.cancel(ctx, x, s)
	case *ddl.PauseTTL:
		return a.pause(ctx, x, s)
	case *ddl.ResumeTTL:
		return a.resume(ctx, x, s)
	case *ddl.ApproveJob:
		return a.approve(ctx, s)
	case *ddl.TrustServer:
		return a.trust(ctx, x, s)
	default:
		return nil, errNotOurs
	}
}

// ok answers without rows.
func (a *admin) ok(x *proxy.Exchange, r *reply) error {
	x.LeaveOnly(r.notes...)
	return x.OK(wire.OK{Affected: r.affected, Info: r.info, Warnings: uint16(len(r.notes))})
}
