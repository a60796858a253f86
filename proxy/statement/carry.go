package statement

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/panics"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// change is a DDL together with what it means for policies.
type change struct {
	intents  []catalog.Intent
	declares bool // the client is promised a policy: no OK before it is durable
	partly   bool // when the DDL fails some of it may have happened
	views    bool // the views of its tables have to follow
	// unless, called when the policies are stopped, says that the DDL will do nothing.
	unless func() (bool, error)
	idly   func() error // how it is then let through; nil: as it is
}

// carry stops the policies, forwards the DDL and commits what has become of the policies. Between
// the first and the last step no catalog lock is held, however long the DDL runs, and no row is
// deleted under the old rule.
//
//	              ┌─ fails ───────► nothing has happened, the client is told so
//	end of the    │          ┌─ error ─► the old rules again ──────────────────► the server's error
//	transaction ─► stage ─► DDL ┤
//	                         └─ OK ────► commit ─┬────────────────────────────► the server's OK
//	                                             └─ fails: the stage stays until it can be ended, the client is told
func (q *request) carry(ctx context.Context, c change) error {
	if err := q.endTransaction(); err != nil {
		return err
	}

	staged, err := q.stage(ctx, c)
	if err != nil {
		return declaredWithout(err)
	}
	if err := q.passed(stopped); err != nil {
		return err
	}

	if idle, err := c.idle(); idle || err != nil {
		q.undo(ctx, staged, false)
		if err != nil {
			return err
		}
		if c.idly != nil {
			return c.idly()
		}
		return q.pass()
	}

	h, err := q.hold()
	if err != nil {
		if _, refused := errors.AsType[*wire.Error](err); refused || errors.Is(err, proxy.ErrAnswerTooLong) {
			q.undo(ctx, staged, !refused) // by us, before the server saw it
		}
		return err // otherwise nobody knows what the server does: the sweep looks once this connection is gone
	}
	if h.Failed() {
		q.undo(ctx, staged, c.partly)
		return q.x.Send(h)
	}
	if err := q.passed(carried); err != nil {
		return err
	}

	if err := q.commit(ctx, staged); err != nil {
		q.h.log.WarnContext(ctx, "a statement was carried out, its policy is not settled yet", slog.Any("err", err))
		if c.declares {
			return &wire.Error{
				Code: ddl.CodeUnknownError, State: "HY000",
				Message: "ttlproxy: the statement itself was carried out, but its TTL policy is not in force yet: " +
					words(err) + "; it will be as soon as the catalog can be written, see SHOW TTL TABLES",
			}
		}
		q.warn("the TTL policies of this statement's tables are stopped until the catalog can be written again")
	} else {
		for _, w := range staged.Warnings {
			q.warn(w)
		}
		if c.declares {
			q.noteIntents(ctx, c.intents)
		}
		if c.views {
			q.followViews(ctx, namesIn(c.intents))
		}
	}

	if err := q.passed(committed); err != nil {
		return err
	}

	return q.send(h)
}

// namesIn are those of the tables of intents, by all names that they have had or got.
func namesIn(intents []catalog.Intent) (all []catalog.Table) {
	for _, i := range intents {
		all = append(all, i.Table)
		if i.To != nil {
			all = append(all, *i.To)
		}
	}
	return all
}

// step is a point in carry after which everything may end.
type step string

const (
	stopped   step = "stopped"   // the policies are, and nothing has happened yet
	carried   step = "carried"   // the server has carried out the DDL
	placed    step = "placed"    // RESTORE has made the partition, which is empty
	committed step = "committed" // the policies are what the DDL made of them
)

// passed tells a test where we are.
func (q *request) passed(s step) error {
	if q.h.after == nil {
		return nil
	}
	if err := q.h.after(s); err != nil {
		return q.x.Fail(err)
	}
	return nil
}

// stage stops the policies. If that takes long, the catalog may be waiting for a global read lock,
// as the DDL would: if the lock is the client's own, the server says so, and its answer counts; if
// it is another's, the client waits for it. A lock of the table is none of the catalog's: whoever
// holds it may be waiting to see the DDL wait (gh-ost). A DDL whose policy is known and cannot be
// stopped is refused: the old rule must not meet the new table.
func (q *request) stage(ctx context.Context, c change) (*catalog.Staged, error) {
	if c.declares {
		return q.stageWithin(ctx, c, catalogWait)
	}
	if staged, err := q.stageWithin(ctx, c, lockedWait); err == nil || errors.Is(err, catalog.ErrRuleChanged) {
		return staged, err
	}

	ask := q.needsNow
	if waited, err := q.awaitServer(c.intents[0].Table.Schema); err != nil {
		return nil, err
	} else if !waited {
		ask = q.needs
	}
	for _, i := range c.intents {
		spelled, err := q.spelledTable(i.Table)
		if err != nil {
			return nil, err
		}
		err = ask(q.toAlter(spelled))
		if err != nil && !wire.RefusedWith(err, ddl.CodeTableDenied, ddl.CodeNoTable) {
			return nil, err
		}
	}

	return q.stageWithin(ctx, c, catalogWait)
}

// awaitServer waits for a global read lock, as any DDL does, by one of a table that nobody can have locked; false if
// the account may have no such table, so that the server does not wait. Whoever has locked tables need not.
func (q *request) awaitServer(schema string) (waited bool, err error) {
	nobodys, err := q.spelledTable(catalog.Table{Schema: schema, Name: "ttlproxy " + rand.Text()})
	if err != nil {
		return false, err
	}
	err = q.needs(right{emptyAlter(nobodys), []uint16{ddl.CodeNoTable, ddl.CodeNoDatabase, ddl.CodeNotLocked}})
	if wire.RefusedWith(err, ddl.CodeTableDenied) {
		return false, nil
	}
	return err == nil, err
}

// idle asks unless.
func (c change) idle() (bool, error) {
	if c.unless == nil {
		return false, nil
	}
	return c.unless()
}

// stageWithin stops the policies of the tables, or none if nothing is left for the DDL to do.
func (q *request) stageWithin(ctx context.Context, c change, patience time.Duration) (*catalog.Staged, error) {
	var staged *catalog.Staged
	err := insist(ctx, patience, func(ctx context.Context) error {
		var err error
		if staged, err = q.store.Stage(ctx, q.client(), c.intents); !inTheWay(err) {
			return err
		}

		if idle, failed := c.idle(); failed != nil {
			return failed
		} else if idle {
			staged = &catalog.Staged{}
			return nil
		}

		return err
	})
	return staged, err
}

// insist retries a change of the catalog for a while if another statement is changing the table.
func insist(ctx context.Context, patience time.Duration, change func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()

	var met error // the last statement that was in the way
	for {
		err := change(ctx)
		switch {
		case inTheWay(err):
			met = err
		case ctx.Err() == nil || met == nil:
			return err
		}

		select {
		case <-ctx.Done():
			return met
		case <-again.C:
		}
	}
}

func inTheWay(err error) bool {
	return errors.Is(err, catalog.ErrTableInDDL) || errors.Is(err, catalog.ErrPolicyChanged)
}

// commit does not end when the client leaves: the DDL has happened.
func (q *request) commit(ctx context.Context, s *catalog.Staged) error {
	return q.h.settle(ctx, s, s.Commit)
}

// undo restores the rules from before a DDL that has failed.
func (q *request) undo(ctx context.Context, s *catalog.Staged, partly bool) {
	end := s.Discard
	if partly {
		end = s.Settle
	}
	if err := q.h.settle(ctx, s, end); err != nil {
		q.h.log.WarnContext(ctx, "a statement failed, its policy is not settled yet", slog.Any("err", err))
	}
}

// settleAgain is how long it takes until a stage that could not be ended is tried again.
const settleAgain = time.Second

// settle ends a stage. If the catalog cannot be written it returns the error, and goes on trying: the sweep would wait
// for the end of the client's connection, which may be days away, and until then nobody deletes from the table, or may
// change it.
func (h *Handler) settle(ctx context.Context, s *catalog.Staged, end func(context.Context) error) error {
	once := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), catalogWait)
		defer cancel()
		return end(ctx)
	}
	err := once()
	if !unsettled(err) {
		return err
	}

	go func() {
		err := panics.Caught(func() error { return h.settleLater(ctx, s, once) })
		if bug, ok := errors.AsType[*panics.Error](err); ok {
			bug.Log(h.log, "while a statement's policy was settled")
		}
	}()
	return err
}

// settleLater tries until a stage is ended.
func (h *Handler) settleLater(ctx context.Context, s *catalog.Staged, once func() error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settleAgain):
		}
		if err := once(); !unsettled(err) {
			h.log.InfoContext(ctx, "a statement's policy is settled", slog.Any("warnings", s.Warnings))
			return nil
		}
	}
}

// unsettled reports whether a stage is still to be ended.
func unsettled(err error) bool {
	return err != nil && !errors.Is(err, catalog.ErrStageOver) && !errors.Is(err, catalog.ErrNoPolicy)
}

// warn leaves a line for SHOW WARNINGS after this statement.
func (q *request) warn(message string) {
	q.notes = append(q.notes, proxy.Note{Level: "Warning", Code: ddl.CodeUnknownError, Message: message})
}

// send answers with what the server said, and counts our notes as warnings.
func (q *request) send(h *proxy.Held) error {
	if len(q.notes) > 0 {
		q.keepWarnings()
	}
	if err := q.veilNotes(); err != nil {
		return err
	}
	if err := q.localizeNotes(); err != nil {
		return err
	}
	if q.kept {
		q.x.LeaveOnly(slices.Concat(q.counted, q.notes)...)
	} else if len(q.notes) > 0 {
		q.x.Leave(q.notes...)
	}
	if len(q.notes) == 0 {
		return q.x.Send(h)
	}
	return q.x.SendOK(h, func(o *wire.OK) {
		o.Warnings += uint16(len(q.notes))
		o.Info = strings.TrimSpace(o.Info + "  " + q.notes[0].Message)
	})
}
