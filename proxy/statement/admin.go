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
type admin struct{ q *request }

// adminWait bounds how long a client waits for the catalog.
const adminWait = 5 * time.Second

// reply is what a statement of ours is answered with: rows, or an OK.
type reply struct {
	list     *report.List
	filter   ddl.Filter
	limit    *uint64 // rows; nil for all of them
	affected uint64
	info     string
	notes    []proxy.Note
}

// cut leaves no more rows than are shown, unless the server has to say which.
func (r *reply) cut() {
	if r.filter == (ddl.Filter{}) && r.limit != nil && uint64(len(r.list.Rows)) > *r.limit {
		r.list.Rows = r.list.Rows[:*r.limit]
	}
}

// answer answers a statement. It returns false for one that is not ours.
func (a *admin) answer(ctx context.Context, st *ddl.Statement) (bool, error) {
	if e, ok := st.Action.(*ddl.ExplainTTL); ok {
		if describes, err := a.describesTable(e); describes || err != nil {
			return false, err
		}
	}

	if d, ok := st.Action.(*ddl.DescribeTiDB); ok && d.Table.Schema == "" && a.q.session.schema != "mysql" {
		return a.describeOther(ctx, d)
	}
	if handled, err := a.answerForServer(ctx, st); handled {
		return true, err
	}

	shape, ok := shapeOf(st.Action)
	if !ok {
		return false, nil
	}
	if a.q.x.Preparing() {
		_, err := a.q.x.Prepare(shape.prepared(), a.q.memo(st, true))
		return true, err
	}
	if err := checkCondition(a.q.x, st.Action); err != nil {
		return true, err
	}

	r, err := a.run(ctx, st.Action)
	if err != nil {
		return true, err
	}
	if r.list == nil {
		return true, a.ok(r)
	}
	if sent, err := a.sendList(r); sent || err != nil {
		return true, err
	}

	text := r.query(literalRows(r.list))
	if err := fits(a.q.x, text); err != nil {
		return true, err
	}
	_, err = a.q.x.Forward(text)
	return true, err
}

// answerForServer answers the statements that are the server's except for a part of ours.
func (a *admin) answerForServer(ctx context.Context, st *ddl.Statement) (handled bool, err error) {
	prepare := a.q.x.Preparing()
	switch s := st.Action.(type) {
	case *ddl.SetVariables:
		if prepare {
			return true, a.prepareSet(s, a.q.memo(st, true))
		}
		return true, a.set(ctx, s)
	case *ddl.ReadNames:
		return true, a.readNames(ctx, st, s)
	case *ddl.ShowVariables:
		if prepare {
			_, err = a.q.x.Prepare(st.Text(), a.q.memo(st, true))
			return true, err
		}
		return true, a.showVariables(ctx, st.Text(), s)
	case *ddl.ShowWarnings:
		if prepare {
			_, err = a.q.x.Prepare(st.Text(), a.q.memo(st, true))
			return true, err
		}
		return true, showWarnings(a.q.x, st.Text())
	}

	return false, nil
}

// execute runs a prepared statement.
func (a *admin) execute(ctx context.Context, st *ddl.Statement) error {
	switch s := st.Action.(type) {
	case *ddl.SetVariables:
		return a.executeSet(ctx, s)
	case *ddl.ReadNames:
		return a.executeRead(ctx, s)
	case *ddl.ShowVariables:
		return a.showVariables(ctx, st.Text(), s)
	case *ddl.ShowWarnings:
		return showWarnings(a.q.x, st.Text())
	}

	r, err := a.run(ctx, st.Action)
	if err != nil {
		return err
	}
	if r.list == nil {
		return a.ok(r)
	}
	text := "SET " + rowsVariable + " = " + literalRows(r.list)
	if err := fits(a.q.x, text); err != nil {
		return err
	}
	if _, err := a.q.x.Ask(text); err != nil {
		return err
	}

	return a.q.pass()
}

// run does what a statement asks for, and reports it in the session's time zone, without the names
// of tables that the client may not see.
func (a *admin) run(ctx context.Context, action ddl.Action) (*reply, error) {
	a.q.x.Ours()
	r, err := a.act(ctx, action)
	if err != nil {
		return nil, localizeError(a.q.x, a.q.veilError(err))
	}
	if err := a.q.veil(&r.info); err != nil {
		return nil, err
	}
	r.cut()
	return r, r.localize(a.q.x)
}

// act does what a statement asks for.
func (a *admin) act(ctx context.Context, action ddl.Action) (*reply, error) {
	switch s := action.(type) {
	case *ddl.ShowTTL:
		return a.show(ctx, s)
	case *ddl.ExplainTTL:
		return a.explain(ctx, s)
	case *ddl.DescribeTiDB:
		r, _ := shapeOf(s)
		return r, nil
	case *ddl.RunJob:
		return a.runJob(ctx, s)
	case *ddl.CancelJob:
		return a.cancel(ctx, s)
	case *ddl.PauseTTL:
		return a.pause(ctx, s)
	case *ddl.ResumeTTL:
		return a.resume(ctx, s)
	case *ddl.ApproveJob:
		return a.approve(ctx, s)
	case *ddl.RestorePartition:
		return a.restore(ctx, s)
	case *ddl.TrustServer:
		return a.trust(ctx, s)
	default:
		return nil, errNotOurs
	}
}

// ok answers without rows.
func (a *admin) ok(r *reply) error {
	a.q.x.LeaveOnly(r.notes...)
	return a.q.x.OK(wire.OK{Affected: r.affected, Info: r.info, Warnings: uint16(len(r.notes))})
}
