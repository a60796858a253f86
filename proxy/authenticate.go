package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// authenticate passes questions and answers on until the server accepts or refuses the login. Whose
// turn it is depends on the plugin, so both sides are read at once. The server's last packet is
// passed on only when nobody reads from the client any more: what the client sends after it is its
// first command.
func (h *handshake) authenticate() error {
	s := h.s
	answers := make(chan error, 1)
	go func() {
		err := s.guard("answers", h.passAnswers)
		if err != nil {
			h.broken.Store(true)
			s.backend.SetReadDeadline(past) //nolint:errcheck // wakes passQuestions
		}
		answers <- err
	}()

	payload, seq, err := h.passQuestions()
	h.last = payload
	h.over.Store(true)
	s.client.SetReadDeadline(past) //nolint:errcheck // wakes passAnswers
	if answerErr := <-answers; answerErr != nil {
		return fmt.Errorf("login: %w", answerErr)
	}
	if err != nil {
		return fmt.Errorf("login: %w", err)
	}

	var ok wire.OK
	if payload[0] == wire.AuthOK && ok.Decode(payload) == nil {
		s.login.status = ok.Status
		payload = wire.CutRedirect(payload, s.login.capabilities)
	}
	if payload[0] == wire.AuthOK && s.looksAtAccount() {
		s.login.last, s.login.lastSeq = payload, seq
		return nil
	}
	if err := s.send(s.client, seq, payload); err != nil {
		return fmt.Errorf("login: %w", err)
	}
	if payload[0] == wire.AuthError {
		return errRefused
	}

	return nil
}

// past is a deadline which ends a read at once.
var past = time.Unix(1, 0)

// passAnswers passes the client's packets on until it is interrupted. What has arrived of a command
// by then is kept: a client may send one before it knows that it is logged in.
func (h *handshake) passAnswers() error {
	var early bytes.Buffer
	in := io.TeeReader(answers{h}, &early)
	for {
		early.Reset()
		payload, seq, err := wire.ReadPacket(in, nil, loginLimit)
		isCommand := (err == nil || errors.Is(err, wire.ErrTooLong)) && seq == 0 // answers go on counting
		switch {
		case isCommand, errors.Is(err, errInterrupted):
			h.s.early = early.Bytes()
			return nil
		case err != nil:
			return err
		}
		if err := h.answer(payload, seq); err != nil {
			return err
		}
	}
}

// answers reads from the client until the login is over. A client that is not asked anything is not
// late.
type answers struct{ h *handshake }

var errInterrupted = errors.New("interrupted")

// Read reads what the client sends.
func (a answers) Read(p []byte) (int, error) {
	s := a.h.s
	for {
		if a.h.over.Load() { // asked after the deadline was set: it may have taken the place of past
			return 0, errInterrupted
		}

		n, err := s.client.Read(p)
		switch {
		case n > 0 || !errors.Is(err, os.ErrDeadlineExceeded):
			return n, err
		case a.h.over.Load():
			return 0, errInterrupted
		case a.h.asking():
			return 0, err
		}

		s.client.SetReadDeadline(time.Now().Add(s.patience)) //nolint:errcheck // the read fails then
	}
}

// asking reports whether the server waits for the client.
func (h *handshake) asking() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.progress.waiting
}

// passQuestions passes the server's packets on up to the last, which it returns. What has arrived of
// one when it is interrupted is kept for conclude.
func (h *handshake) passQuestions() ([]byte, byte, error) {
	s := h.s
	var part bytes.Buffer
	in := io.TeeReader(s.backend, &part)
	for {
		part.Reset()
		s.extend(s.backend)
		if h.broken.Load() { // asked after the deadline was set: it may have taken the place of past
			return nil, 0, errInterrupted
		}

		payload, seq, err := wire.ReadPacket(in, nil, loginLimit)
		if err != nil {
			h.progress.part = part.Bytes()
			return nil, 0, err
		}
		if len(payload) == 0 {
			return nil, 0, io.ErrUnexpectedEOF
		}

		if payload[0] == wire.AuthOK || payload[0] == wire.AuthError {
			h.mu.Lock()
			defer h.mu.Unlock()
			return payload, seq - h.shift, nil
		}

		if err := h.question(payload, seq); err != nil {
			return nil, 0, err
		}
	}
}

// question takes one step with a packet of the server. If the bridge answers it, the server's
// numbers are two ahead from then on.
func (h *handshake) question(payload []byte, seq byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, err := h.bridge.fromServer(payload)
	if !h.bridge.noAnswer(payload) {
		h.progress.asks(seq)
	}
	switch {
	case err != nil:
		return h.s.giveUp(seq-h.shift, err)
	case m.toServer != nil:
		h.shift += 2
		h.progress.answered()
		return h.s.send(h.s.backend, seq+1, m.toServer)
	default:
		return h.s.send(h.s.client, seq-h.shift, m.toClient)
	}
}

// answer takes one step with a packet of the client.
func (h *handshake) answer(payload []byte, seq byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, err := h.bridge.fromClient(payload)
	switch {
	case err != nil:
		return h.s.giveUp(seq+1, err)
	case m.toClient != nil:
		h.shift -= 2
		return h.s.send(h.s.client, seq+1, m.toClient)
	default:
		h.progress.answered()
		return h.s.send(h.s.backend, seq+h.shift, m.toServer)
	}
}

// giveUp tells the client why it cannot log in.
func (s *session) giveUp(seq byte, err error) error {
	s.refuse(seq, asError(err))
	return err
}
