package statement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// turn is one statement while it is decided on and carried out.
type turn struct {
	*Handler
	*situation
	x        *proxy.Exchange
	st       *ddl.Statement
	alone    bool // the statement is all of its packet
	notes    []proxy.Note
	looks    int  // how often its table was not there
	prepared bool // the server holds the cut text already, for the EXECUTE that is held back
	// again runs, for EXECUTE of a name, the text that we know the server to have behind it.
	again func() (*proxy.Held, error)
	reads *bool // whether the client may read every table; nil when it has not been asked
}

// take decides what becomes of the statement and does it.
func (t *turn) take(ctx context.Context) error {
	if _, named := t.st.Action.(*ddl.Prepare); t.st.Err != nil && !named {
		return refusal(t.st.Err)
	}
	if err := t.agree(t.st); err != nil {
		return err
	}
	return t.act(ctx, t.st.Action)
}

func (t *turn) act(ctx context.Context, action ddl.Action) error {
	switch a := action.(type) {
	case *ddl.CreateTable:
		return t.create(ctx, a)
	case *ddl.AlterTable:
		return t.alter(ctx, a)
	case *ddl.DropTables:
		return t.drop(ctx, a)
	case *ddl.RenameTables:
		return t.rename(ctx, a)
	case *ddl.TruncateTable:
		return t.follow(ctx, catalog.IntentTruncate, toDrop, a.Table)
	case *ddl.ChangeTables:
		return t.follow(ctx, catalog.IntentAlter, toChange(a), a.Tables...)
	case *ddl.DropDatabase:
		return t.dropDatabase(ctx, a)
	case *ddl.ShowCreateTable:
		return t.showCreate(ctx, a)
	case *ddl.Immediate:
		return t.immediate(ctx, a)
	case *ddl.Prepare:
		return t.prepareNamed(ctx, a)
	case *ddl.Execute:
		return t.executeNamed(ctx, a)
	case *ddl.Deallocate:
		return t.deallocate(a)
	}

	if done, err := (&admin{t}).answer(ctx, t.x, t.st); done || err != nil {
		return err
	}

	return t.pass()
}

// pass lets the statement through, without our clauses.
func (t *turn) pass() error {
	if t.again != nil {
		h, err := t.again()
		if err != nil {
			return err
		}
		return t.x.Send(h)
	}

	if t.prepared || t.alone && !t.st.Changed() {
		_, err := t.x.Pass()
		return err
	}

	_, err := t.x.Forward(t.st.Forward())
	return err
}

// hold runs the statement, without our clauses, and keeps the server's answer back.
func (t *turn) hold() (*proxy.Held, error) {
	if t.again != nil {
		return t.again()
	}
	if t.prepared {
		return t.x.HoldSame()
	}
	return t.x.Hold(t.st.Forward())
}

// policy returns the policy of a table named in the statement, or nil.
func (t *turn) policy(ctx context.Context, name ddl.Name) (*catalog.Policy, error) {
	table, ok := t.table(name)
	if !ok {
		return nil, nil //nolint:nilnil // the server says that there is no schema
	}

	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()

	p, err := t.Store.Policy(ctx, table)
	if errors.Is(err, catalog.ErrNoPolicy) {
		return nil, nil //nolint:nilnil // no policy is no error
	}
	if err != nil {
		return nil, unavailable(err)
	}

	return &p, nil
}

const (
	// catalogWait bounds how long a statement waits for a change of the catalog that it needs: for
	// each lock two seconds, and the rest for a server that is slow.
	catalogWait = 10 * time.Second
	// askWait bounds how long one waits for what the catalog says about its tables.
	askWait = 5 * time.Second
	// lockedWait is how soon it is found out whether the client's own locks are in the way of the
	// catalog.
	lockedWait = 2 * time.Second
)

// errCatalog marks errors of the catalog, which stop TTL statements and nothing else.
var errCatalog = errors.New("catalog")

func unavailable(err error) error {
	return fmt.Errorf("%w: %w", errCatalog, err)
}

// withoutCatalog decides about a statement that only follows a table: when the catalog cannot be
// asked it passes with a warning, and the identity check catches up later. Every other error is the
// answer.
func (t *turn) withoutCatalog(ctx context.Context, err error) error {
	if !errors.Is(err, errCatalog) {
		return err
	}
	t.noteWithoutCatalog(ctx, err)
	if _, rows := t.st.Action.(*ddl.ShowCreateTable); rows {
		t.x.Leave(t.notes...)
		return t.pass()
	}
	return t.passWithNotes()
}

func (t *turn) noteWithoutCatalog(ctx context.Context, err error) {
	t.log.WarnContext(ctx, "the catalog cannot be asked about a statement, which passes", slog.Any("err", err))
	t.warn("the statement was carried out without the catalog of TTL policies, which cannot be asked: a TTL of its " +
		"tables " +
		"is not shown, and if one of them was changed its TTL is disarmed until ALTER TABLE … TTL_ENABLE='ON'")
}

// passWithNotes lets the statement through and counts our notes as warnings.
func (t *turn) passWithNotes() error {
	h, err := t.hold()
	if err != nil {
		return err
	}
	if h.Failed() {
		return t.x.Send(h)
	}
	return t.send(h)
}

// inCatalogTrouble is what the client of a TTL statement is told when the catalog cannot be asked
// or written.
func inCatalogTrouble(err error) error {
	if inTheWay(err) {
		return &wire.Error{Code: ddl.CodeLockWait, State: "HY000", Message: "ttlproxy: " + err.Error() + "; try again"}
	}
	return &wire.Error{
		Code: ddl.CodeUnknownError, State: "HY000",
		Message: "ttlproxy: nothing was changed, because the catalog of TTL policies cannot be used: " + err.Error(),
	}
}
