package statement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// request is one statement while it is decided on and carried out.
type request struct {
	h        *Handler
	store    catalogStore
	x        *proxy.Exchange
	session  *situation // nil where the catalog cannot be asked, so that nothing is decided
	st       *ddl.Statement
	alone    bool // the statement is all of its packet
	notes    []proxy.Note
	counted  []proxy.Note // warnings of the server's, which its answer counts already
	kept     bool         // counted are all of them
	looks    int          // how often its table was not there
	prepared bool         // the server holds the cut text already, for the EXECUTE that is held back
	named    *proxy.Named // for EXECUTE of a name: the text that we know the server to have behind it
	reads    *bool        // whether the client may read every table; nil when it has not been asked
}

// take decides what becomes of the statement and does it.
func (q *request) take(ctx context.Context) error {
	if _, named := q.st.Action.(*ddl.Prepare); q.st.Err != nil && !named {
		return refusal(q.st.Err)
	}
	if err := q.agree(q.st); err != nil {
		return err
	}
	return q.act(ctx, q.st.Action)
}

func (q *request) act(ctx context.Context, action ddl.Action) error {
	switch a := action.(type) {
	case *ddl.CreateTable:
		return q.create(ctx, a)
	case *ddl.AlterTable:
		return q.alter(ctx, a)
	case *ddl.DropTables:
		return q.drop(ctx, a)
	case *ddl.RenameTables:
		return q.rename(ctx, a)
	case *ddl.TruncateTable:
		return q.follow(ctx, catalog.IntentTruncate, toDrop, a.Table)
	case *ddl.ChangeTables:
		return q.follow(ctx, catalog.IntentAlter, toChange(a), a.Tables...)
	case *ddl.DropDatabase:
		return q.dropDatabase(ctx, a)
	case *ddl.ShowCreateTable:
		return q.showCreate(ctx, a)
	case *ddl.Immediate:
		return q.immediate(ctx, a)
	case *ddl.Prepare:
		return q.prepareNamed(ctx, a)
	case *ddl.Execute:
		return q.executeNamed(ctx, a)
	case *ddl.Deallocate:
		return q.deallocate(a)
	}

	if done, err := (&admin{q}).answer(ctx, q.st); done || err != nil {
		return err
	}

	return q.pass()
}

// pass lets the statement through, without our clauses.
func (q *request) pass() error {
	if q.named != nil {
		h, err := q.holdNamed()
		if err != nil {
			return err
		}
		return q.x.Send(h)
	}

	if q.prepared || q.alone && !q.st.Changed() {
		_, err := q.x.Pass()
		return err
	}

	_, err := q.x.Forward(q.st.Forward())
	return err
}

// hold runs the statement, without our clauses, and keeps the server's answer back.
func (q *request) hold() (*proxy.Held, error) {
	if q.named != nil {
		return q.holdNamed()
	}
	if q.prepared {
		return q.x.HoldSame()
	}
	return q.x.Hold(q.st.Forward())
}

// policy returns the policy of a table named in the statement, or nil.
func (q *request) policy(ctx context.Context, name ddl.Name) (*catalog.Policy, error) {
	table, ok := q.session.table(name)
	if !ok {
		return nil, nil //nolint:nilnil // the server says that there is no schema
	}

	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()

	p, err := q.store.Policy(ctx, table)
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
func (q *request) withoutCatalog(ctx context.Context, err error) error {
	if !errors.Is(err, errCatalog) {
		return err
	}
	q.noteWithoutCatalog(ctx, err)
	if _, rows := q.st.Action.(*ddl.ShowCreateTable); rows {
		q.x.Leave(q.notes...)
		return q.pass()
	}
	return q.passWithNotes()
}

func (q *request) noteWithoutCatalog(ctx context.Context, err error) {
	q.h.log.WarnContext(ctx, "the catalog cannot be asked about a statement, which passes", slog.Any("err", err))
	q.warn("the statement was carried out without the catalog of TTL policies, which cannot be asked: a TTL of its " +
		"tables is not shown, and if one of them was changed its TTL is disarmed until ALTER TABLE … TTL_ENABLE='ON'")
}

// passWithNotes lets the statement through and counts our notes as warnings.
func (q *request) passWithNotes() error {
	h, err := q.hold()
	if err != nil {
		return err
	}
	if h.Failed() {
		return q.x.Send(h)
	}
	return q.send(h)
}

// inCatalogTrouble is what the client of a TTL statement is told when the catalog cannot be asked
// or written.
func inCatalogTrouble(err error) error {
	if inTheWay(err) || errors.Is(err, catalog.ErrRuleChanged) {
		return &wire.Error{Code: ddl.CodeLockWait, State: "HY000", Message: "ttlproxy: " + err.Error() + "; try again"}
	}
	return &wire.Error{
		Code: ddl.CodeUnknownError, State: "HY000",
		Message: "ttlproxy: nothing was changed, because the catalog of TTL policies cannot be used: " + tryAgain(err),
	}
}

// tryAgain is words of a statement that has changed nothing.
func tryAgain(err error) string {
	said := words(err)
	if said != err.Error() {
		said += "; try again"
	}
	return said
}

// words is what an error of the catalog says to a client, who knows of no context and no transaction.
func words(err error) string {
	const (
		late = "the catalog of TTL policies is locked by somebody, or the server is busy"
		lost = "; if the catalog of TTL policies was dropped, `ttlproxy init` makes another, in which no table has one"
	)
	my, _ := errors.AsType[*mysql.MySQLError](err)
	switch {
	case my == nil:
	case my.Number == ddl.CodeLockWait:
		return strings.ReplaceAll(err.Error(), my.Error(), late)
	case my.Number == ddl.CodeNoTable, my.Number == ddl.CodeNoDatabase:
		return err.Error() + lost
	}
	return strings.ReplaceAll(err.Error(), context.DeadlineExceeded.Error(), late)
}

// refusal is an error of package ddl as it goes to the client.
func refusal(e *ddl.Error) *wire.Error {
	return &wire.Error{Code: e.Code, State: e.State, Message: e.Message}
}

// refuse is an error with a sentence of ours.
func refuse(format string, args ...any) *wire.Error {
	return &wire.Error{Code: ddl.CodeUnknownError, State: "HY000", Message: fmt.Sprintf(format, args...)}
}
