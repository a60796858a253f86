package proxy

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// up carries what the client sends to the server, and stops at the commands that the gate holds
// back.
func (s *session) up(ctx context.Context) error {
	in := s.fromClient
	scanned := 0 // how many of the pending bytes the scanner has seen
	passed := 0  // commands
	for {
		if err := in.fillBeyond(scanned); err != nil {
			if errors.Is(err, io.EOF) {
				return errClientGone
			}
			return err
		}

		s.between.Store(false)
		for scanned < len(in.pending()) {
			n, start, found := s.scanner.Scan(in.pending()[scanned:])
			scanned += n
			if s.scanner.RunEnded() {
				s.forgetFile()
			}
			if !found {
				break
			}
			if s.fileAtZero.CompareAndSwap(true, false) {
				s.scanner.File(start)
				continue
			}

			at := scanned - startSize(start)
			held, err := s.holdBack(start, at)
			if err != nil {
				return err
			}

			if !held {
				if passed++; passed%pipelineStep == 0 {
					if err := s.makeRoom(at); err != nil {
						return err
					}
					scanned, at = scanned-at, 0
				}
				payload := in.pending()[at+wire.HeaderSize:]
				s.begin(start.Command, payload[:min(len(payload), start.Size)])
				continue
			}

			if err := s.flush(at); err != nil {
				return err
			}
			if err := s.intercept(ctx, start); err != nil {
				return err
			}

			scanned = 0
		}

		s.between.Store(s.scanner.Between())
		s.inRun.Store(s.scanner.InRun())
		undecided := s.scanner.Undecided()
		if err := s.flush(scanned - undecided); err != nil {
			return err
		}

		scanned = undecided
		if s.leaving.Load() {
			s.closeIfIdle() // what was held back was not idle when its answer was delivered
		}
	}
}

// startSize is how many bytes of a command the scanner has read when it reports its start.
func startSize(c wire.Start) int {
	if c.Size == 0 {
		return wire.HeaderSize
	}
	return wire.HeaderSize + 1
}

// flush sends the first n pending bytes to the server.
func (s *session) flush(n int) error {
	if n == 0 {
		return nil
	}
	err := s.write(s.backend, s.fromClient.pending()[:n])
	s.fromClient.use(n)
	return err
}

// begin tells the tracker about a command that is about to be sent; the beginning of its payload
// has arrived.
func (s *session) begin(c wire.Command, payload []byte) {
	if c == wire.Quit {
		s.quits.Store(true)
	}
	s.memory.pass(c)
	s.expect(c, payload)
}

// expect tells the tracker, and the slow log, that the server will answer a command.
func (s *session) expect(c wire.Command, payload []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.fileAtZero.CompareAndSwap(true, false) { // it was sent before the client could know of the request
		s.tracker.GiveUp(wire.LostInFile) // and begins the file: what comes next does not
	}
	if c == wire.Execute && wire.AsksForCursor(payload) {
		s.tracker.BeginCursor(now)
	} else {
		s.tracker.Begin(c, now)
	}
	if s.tracker.Opaque() {
		s.lostTrack()
	}
	s.silentSince = now
	if s.slow != nil {
		s.slow.begin(now, c, payload, s.login.capabilities)
	}
}

// A client can pipeline so many commands before it has to wait for the server, which is looked at
// now and then: the session remembers each until it is answered.
const (
	pipelineLimit = 1024
	pipelineStep  = pipelineLimit / 2
)

// makeRoom sends the first n pending bytes, since only what is sent is answered, and waits until the server
// has answered enough.
func (s *session) makeRoom(n int) error {
	if err := s.flush(n); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = true
	defer func() { s.waiting = false }()
	for s.tracker.Outstanding() > pipelineStep && !s.tracker.Opaque() && !s.gone {
		s.changed.Wait()
	}
	return nil
}

// down carries what the server sends to the client, or to the exchange that is waiting for it.
func (s *session) down() error {
	defer s.lost()

	in := s.fromBackend
	for {
		if err := in.fill(); err != nil {
			return err
		}

		out := s.receive(in.pending())
		if len(out) > 0 {
			if err := s.write(s.client, out); err != nil {
				s.close() // there is nobody an exchange could answer
				return err
			}
		}

		in.use(len(in.pending()))
		s.delivered()
	}
}

// receive shows the tracker what the server sent and returns the client's part of it.
func (s *session) receive(b []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = true
	if s.route != nil {
		return s.route.receive(s, b)
	}
	s.track(b)
	return b
}

// track is called with the lock held.
func (s *session) track(b []byte) {
	for len(b) > 0 {
		n, r, ended := s.tracker.Scan(b)
		if b = b[n:]; ended {
			s.report(r)
		}
	}
	atZero := s.tracker.FileWanted() && s.tracker.FileNext() == 0
	if atZero && !s.tracker.AtLast() {
		s.tracker.GiveUp(wire.LostInFile) // the server takes for the file what was passed on as a command
	}
	if s.tracker.Opaque() {
		s.lostTrack()
	}
	s.fileAtZero.Store(atZero && !s.tracker.Opaque())
}

// report records a command that has ended. It is called with the lock held.
func (s *session) report(r wire.Report) {
	s.silentSince = s.now()
	if r.Command == wire.ChangeUser {
		s.inRun.Store(false) // the client has nothing more to answer
	}
	if s.slow != nil {
		s.slow.end(r, time.Duration(s.silentSince-r.Started), s)
	}
	if s.route != nil {
		s.route.ended(r)
		return
	}
	s.server.metrics.command(r, s.silentSince-r.Started)
}

// delivered says that what was last received has reached its destination.
func (s *session) delivered() {
	s.mu.Lock()
	s.writing = false
	if s.waiting {
		s.changed.Broadcast()
	}
	s.mu.Unlock()
	if s.leaving.Load() {
		s.closeIfIdle()
	}
}

// lost says that nothing more will be delivered, because the server sends nothing more or the
// client accepts nothing more. The client must see it at once, unless an exchange is about to
// answer it.
func (s *session) lost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone, s.writing = true, false
	s.changed.Broadcast()
	if !s.exchanging {
		s.close()
	}
}
