package proxy

import (
	"bytes"
	"context"
	"errors"
	"log/slog"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

const (
	// glance is how much of a statement is examined to see whether it may be ours. A shorter one is
	// examined in full, and so is a longer one that seems to be several.
	glance = 64 << 10
	// heldLimit is the longest statement that is held back. The server refuses our clauses in a
	// longer one.
	heldLimit = 1 << 20
)

// holdBack decides whether the command that starts at offset at of what is pending must be held back.
// If it must, the whole packet is pending when it returns, unless it is too long.
func (s *session) holdBack(c wire.Start, at int) (bool, error) {
	if c.Command == wire.Execute { // the tracker must know whether it wants a cursor
		if ok, err := s.gather(at, wire.HeaderSize+min(c.Size, wire.ExecuteHead)); !ok || err != nil {
			return false, err
		}
	}
	if !s.interesting(c) {
		return false, nil
	}
	if ok, err := s.gather(at, wire.HeaderSize+min(c.Size, glance)); !ok || err != nil {
		return false, err
	}

	ours := s.ours(s.payload(c, at))
	if isTooLong(c) {
		return ours, nil // as much as there is: intercept refuses it
	}
	if c.Size > heldLimit || !ours && !s.goesOn(c, at) {
		return false, nil
	}
	if ok, err := s.gather(at, wire.HeaderSize+c.Size); !ok || err != nil {
		return false, err
	}

	payload := s.payload(c, at)
	return (ours || s.ours(payload)) && s.concerns(payload), nil
}

// payload is what is pending of the command that starts at offset at.
func (s *session) payload(c wire.Start, at int) []byte {
	b := s.fromClient.pending()[at+wire.HeaderSize:]
	return b[:min(len(b), c.Size)]
}

// goesOn reports whether a packet, such as a script of migrations, may contain another statement
// beyond the part that has arrived.
func (s *session) goesOn(c wire.Start, at int) bool {
	b := s.payload(c, at)
	return c.Command == wire.Query && s.memory.multi && len(b) < c.Size && bytes.IndexByte(b, ';') >= 0
}

// gather waits until n bytes from offset at are pending.
func (s *session) gather(at, n int) (bool, error) {
	in := s.fromClient
	if len(in.pending()) >= at+n {
		return true, nil
	}
	in.reserve(at + n)
	for len(in.pending()) < at+n {
		if err := in.fill(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// tooLong is the error with which a command is refused that is too long to be held back, and must
// not pass unseen. Texts may: the server refuses our clauses in them.
func tooLong(c wire.Start) *wire.Error {
	switch {
	case c.Command == wire.ChangeUser && c.Size > loginLimit:
		return badHandshake()
	case (c.Command == wire.Execute || c.Command == wire.BulkExecute) && c.Size > heldLimit:
		return &wire.Error{
			Code: ddl.CodeUnknownError, State: "HY000",
			Message: "ttlproxy: more than 1 MiB of parameters for a prepared statement on a table or a TTL: the " +
				"statement was not executed, and this session ends",
		}
	default:
		return nil
	}
}

// isTooLong reports whether there is such an error.
func isTooLong(c wire.Start) bool { return tooLong(c) != nil }

// interesting reports whether a command of this kind may concern us.
func (s *session) interesting(c wire.Start) bool {
	switch c.Command {
	case wire.Query, wire.Prepare:
		return c.Size > 1
	case wire.Execute, wire.BulkExecute, wire.CloseStatement:
		return s.memory.statements != nil
	case wire.ChangeUser, wire.SetOption:
		return true
	default:
		return false
	}
}

// ours reports whether the beginning of a command may be one of ours.
func (s *session) ours(payload []byte) bool {
	switch wire.Command(payload[0]) {
	case wire.Query, wire.Prepare:
		at, ok := wire.QueryText(payload, s.login.capabilities)
		return ok && s.server.handler.Candidate(payload[at:])
	case wire.CloseStatement:
		if id, ok := wire.StatementID(payload); ok {
			s.memory.closed(id)
		}
		return false
	case wire.ChangeUser:
		return s.changesUser(payload)
	case wire.SetOption:
		s.memory.option(payload)
		return false
	default:
		id, ok := wire.StatementID(payload)
		return ok && s.memory.statement(id) != nil
	}
}

// concerns decides about a complete command that may be one of ours. What turns out not to be goes
// on at once, whatever the server is still busy with.
func (s *session) concerns(payload []byte) bool {
	switch c := wire.Command(payload[0]); c {
	case wire.Query, wire.Prepare:
		return s.server.handler.Concerns(&Exchange{s: s, Command: c, payload: payload, remarks: s.memory.remarks})
	default:
		return true
	}
}

// Handler knows which statements are ours and what to do with them.
type Handler interface {
	// Candidate reports whether a statement may be ours, from a glance at its text.
	Candidate(text []byte) bool
	// Concerns reports whether a statement that may be ours is to be held back for Handle: by its
	// text and by what the session has prepared, for nothing can be asked yet.
	Concerns(x *Exchange) bool
	// Handle decides about a statement that was held back. It must answer the client through the
	// exchange, or return an error, which then becomes the answer.
	Handle(ctx context.Context, x *Exchange) error
	// Asleep reports whether the server says that it has had nothing to do for a session for a
	// while.
	Asleep(ctx context.Context, connectionID uint32) bool
}

// passing is the handler of a proxy that has none: every statement passes.
type passing struct{}

func (passing) Candidate([]byte) bool { return false }

func (passing) Concerns(*Exchange) bool { return false }

func (passing) Handle(_ context.Context, x *Exchange) error {
	_, err := x.Pass()
	return err
}

func (passing) Asleep(context.Context, uint32) bool { return false }

// intercept hands the pending command to the handler, once everything before it has been answered.
func (s *session) intercept(ctx context.Context, c wire.Start) error {
	if e := tooLong(c); e != nil {
		return s.refuseLong(ctx, c, e)
	}

	size := wire.HeaderSize + c.Size
	packet := append([]byte(nil), s.fromClient.pending()[:size]...)
	s.fromClient.use(size)
	s.scanner.Scan(packet[startSize(c):])

	if err := s.settle(ctx); err != nil {
		if unseen := errors.Is(err, errOpaque) || errors.Is(err, errFileFirst); unseen && c.Command != wire.ChangeUser {
			s.passUnseen(ctx, err)
			s.begin(c.Command, packet[wire.HeaderSize:])
			return s.write(s.backend, packet)
		}
		return err
	}

	s.exchange(true)
	defer s.exchange(false)
	s.server.metrics.holding.Inc()
	defer s.server.metrics.holding.Dec()

	if c.Command == wire.ChangeUser {
		defer s.scanner.EndRun()
		return s.changeUser(packet[wire.HeaderSize:])
	}

	x := &Exchange{s: s, Command: c.Command, payload: packet[wire.HeaderSize:], seq: 1, open: true, begun: s.now()}
	defer func() {
		if p := recover(); p != nil {
			s.apologise(x.seq) // here the number is known
			panic(p)
		}
	}()

	x.TakeNotes()
	if c.Command == wire.Prepare {
		s.memory.last = nil
	}
	if err := s.finish(x, s.decide(ctx, x)); err != nil {
		return err
	}

	x.count()
	return nil
}

// passUnseen says, once in the life of a session, that a statement about TTL passes as it is.
func (s *session) passUnseen(ctx context.Context, why error) {
	if !s.missed {
		s.log.WarnContext(ctx, "a statement that may be about TTL passes as it is", slog.Any("err", why))
	}
	s.missed = true
}

// decide lets the handler answer, unless the command executes a statement that we refused to
// prepare.
func (s *session) decide(ctx context.Context, x *Exchange) error {
	if _, refused := x.Memo().(refusedPrepare); refused {
		return &wire.Error{
			Code: ddl.CodeUnknownPrepared, State: "HY000",
			Message: "Unknown prepared statement handler (4294967295) given to EXECUTE",
		}
	}

	err := s.server.handler.Handle(ctx, x)
	if err != nil && x.Command == wire.Prepare {
		s.memory.refused()
	}
	return err
}

// finish makes sure that the client got its answer.
func (s *session) finish(x *Exchange, err error) error {
	switch {
	case x.broken != nil:
		return x.broken
	case x.open:
		return x.Err(asError(err))
	case err != nil:
		s.log.Warn("statement ended with an error after its answer", slog.Any("err", err))
	}
	return nil
}

// exchange says that an exchange begins or ends. If the server has gone meanwhile, the session ends
// with it.
func (s *session) exchange(begins bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exchanging = begins
	if !begins && s.gone {
		s.close()
	}
}

// asError is the error that a client sees.
func asError(err error) *wire.Error {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e
	}
	if err == nil {
		err = errors.New("the statement was left without an answer")
	}
	return &wire.Error{Code: ddl.CodeUnknownError, State: "HY000", Message: "ttlproxy: " + err.Error()}
}
