package proxy

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// nobody is the account that a server sees when a client has left before it said who it is.
const nobody = "ttlproxy_nobody"

// lastWord is how long a server may take to say its last word, and to close its connection.
const lastWord = 3 * time.Second

// progress is how far a login has come, as the server sees it.
type progress struct {
	greeting  *wire.Greeting
	responded bool   // to the greeting
	waiting   bool   // the server waits for a packet of the client
	next      byte   // that packet's number
	unclear   bool   // nobody can say
	part      []byte // of the server's next packet, which has been read
}

// asks says that the server has sent a packet to which it wants an answer.
func (p *progress) asks(seq byte) { p.waiting, p.next = true, seq+1 }

// answered says that it has got one.
func (p *progress) answered() { p.waiting, p.responded = false, true }

// conclude ends a login that nobody finishes any more, as one that the server refuses, and returns
// the server's last packet, if it came. Until a server has let a client in or has refused it, a
// connection that ends is an error of the client's host, which is ours for all clients: after
// max_connect_errors of them in succession the server lets nobody in from here. So it gets an
// answer to whatever it waits for: to the greeting that of somebody whom it does not know, to a
// question an empty one. The greeting may still be to come.
func (p *progress) conclude(c net.Conn) []byte {
	const steps = 8
	c.SetDeadline(time.Now().Add(lastWord)) //nolint:errcheck // the next step fails then
	in := io.MultiReader(bytes.NewReader(p.part), c)

	answer := []byte(nil)
	for range steps {
		if p.unclear {
			return nil
		}

		if p.waiting {
			if !p.responded {
				answer = nobodysResponse(p.greeting)
			}
			if err := sendPacket(c, p.next, answer); err != nil {
				return nil
			}
			p.answered()
		}

		payload, seq, err := wire.ReadPacket(in, nil, loginLimit)
		switch {
		case err != nil || len(payload) == 0:
			return nil
		case payload[0] == wire.AuthOK: // an account without a name or a password
			sendPacket(c, 0, []byte{byte(wire.Quit)}) //nolint:errcheck // the connection ends in any case
			return payload
		case payload[0] == wire.AuthError:
			return payload
		case p.greeting == nil:
			p.greeting = new(wire.Greeting)
			if p.greeting.Decode(payload) != nil {
				return nil
			}
			p.asks(seq)
			continue
		}

		if len(payload) != 2 || payload[1] != cachingFastDone {
			p.asks(seq)
			answer = emptyAnswer(payload)
		}
	}

	return nil
}

// nobodysResponse is a response to a greeting, without a password.
func nobodysResponse(g *wire.Greeting) []byte {
	caps := (wire.LongPassword | wire.Protocol41 | wire.SecureConnection | wire.PluginAuth) & g.Capabilities
	b := binary.LittleEndian.AppendUint32(nil, uint32(caps))
	b = binary.LittleEndian.AppendUint32(b, wire.MaxPayload)
	b = append(b, g.Charset)
	b = append(b, make([]byte, wire.SSLRequestSize-len(b))...)
	b = append(b, nobody...)
	b = append(b, 0, 0)
	if caps.Has(wire.PluginAuth) {
		b = append(append(b, g.AuthPlugin...), 0)
	}
	return b
}

// emptyAnswer is what a client without a password answers to a question. One plugin counts every
// answer of another length as a broken one.
func emptyAnswer(question []byte) []byte {
	const ed25519, signature = "client_ed25519", 64
	if question[0] == wire.AuthSwitch && wire.AuthSwitchPlugin(question) == ed25519 {
		return make([]byte, signature)
	}
	return nil
}

// sendPacket sends one packet.
func sendPacket(c net.Conn, seq byte, payload []byte) error {
	b, _ := wire.AppendPacket(nil, seq, payload)
	_, err := c.Write(b)
	return err
}

// awaitEnd waits until the server has closed a connection that it is about to close. Who closes
// first keeps the port occupied for a minute (TIME_WAIT). The server has one, and we have 28,000
// for each server.
func awaitEnd(c net.Conn, patience time.Duration) {
	c.SetReadDeadline(time.Now().Add(patience)) //nolint:errcheck // then it is not waited for
	io.Copy(io.Discard, c)                      //nolint:errcheck // the connection ends in any case
}

// end brings a login that did not go well to its end at the server.
func (h *handshake) end(ctx context.Context, err error) {
	c := h.s.backend
	last := h.last
	switch {
	case last == nil:
		last = h.progress.conclude(c)
	case last[0] == wire.AuthOK: // the client left just then
		sendPacket(c, 0, []byte{byte(wire.Quit)}) //nolint:errcheck // the connection ends in any case
	}
	if isBadHandshake(last) {
		h.s.server.metrics.slips.WithLabelValues(h.link.backend.String()).Inc()
		h.s.server.backends.slipped(ctx, h.link.backend)
	}
	if last != nil || errors.Is(err, errRefused) {
		awaitEnd(c, h.s.settings.lastWord)
	}
}

// isBadHandshake reports whether a server has counted an error of our host.
func isBadHandshake(payload []byte) bool {
	var e wire.Error
	return len(payload) > 0 && payload[0] == wire.AuthError && e.Decode(payload) == nil && e.Code == ddl.CodeHandshake
}
