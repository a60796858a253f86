package wire

import (
	"bytes"
	"crypto/sha1"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// conn is a client that sends packets as a test writes them.
type conn struct {
	net.Conn
	t        *testing.T
	greeting wire.Greeting
	caps     wire.Capability // in effect
	tracker  wire.Tracker
}

// logIn connects an account without a password.
func logIn(t *testing.T, address, user, schema string, caps wire.Capability) *conn {
	t.Helper()
	c, err := tryLogIn(t, address, user, "", schema, caps)
	if err != nil {
		t.Fatalf("log in at %s: %v", address, err)
	}
	return c
}

// tryLogIn connects with mysql_native_password, or another plugin as long as the password is empty.
// TLS is a capability like others.
func tryLogIn(t *testing.T, address, user, password, schema string, caps wire.Capability) (*conn, error) {
	t.Helper()
	c := dial(t, address)
	caps |= wire.Protocol41 | wire.SecureConnection | wire.PluginAuth | wire.Transactions
	if schema != "" {
		caps |= wire.ConnectWithDB
	}
	if c.greeting.Capabilities.Has(wire.LongPassword) {
		caps |= wire.LongPassword
	}

	c.caps = wire.Effective(caps, c.greeting.Capabilities)
	c.tracker.Capabilities = c.caps
	r := response(caps, user, schema, c.greeting.AuthPlugin, native(password, c.greeting.Salt))
	seq := byte(1)

	if caps.Has(wire.SSL) && !c.greeting.Capabilities.Has(wire.SSL) {
		return c, errors.New("the greeting offers no TLS")
	}

	if caps.Has(wire.SSL) {
		c.send(seq, r[:wire.SSLRequestSize])
		c.Conn = tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true})
		seq++
	}

	c.send(seq, r)
	return c, c.authenticate(password)
}

// dial connects and reads the greeting.
func dial(t *testing.T, address string) *conn {
	t.Helper()
	n, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { n.Close() })
	n.SetDeadline(time.Now().Add(10 * time.Minute)) // which a busy machine does not need; it is for what hangs
	c := &conn{Conn: n, t: t}

	payload, _, err := c.packet()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.greeting.Decode(payload); err != nil {
		t.Fatal(err)
	}

	return c
}

func (c *conn) authenticate(password string) error {
	for {
		payload, seq, err := c.packet()
		if err != nil {
			return err
		}

		switch payload[0] {
		case wire.AuthOK:
			return nil
		case wire.AuthError:
			e := new(wire.Error)
			return errors.Join(e.Decode(payload), e)
		case wire.AuthSwitch:
			var answer []byte
			if password != "" {
				salt := payload[len(wire.AuthSwitchPlugin(payload))+2:]
				answer = native(password, salt[:20])
			}
			c.send(seq+1, answer)
		}
	}
}

func response(caps wire.Capability, user, schema, plugin string, auth []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(caps))
	b = binary.LittleEndian.AppendUint32(b, 1<<30)
	b = append(b, 45)
	b = append(b, make([]byte, 19)...)
	extended := uint32(caps >> 32)

	if caps.Has(wire.LongPassword) {
		extended = 0
	}

	b = binary.LittleEndian.AppendUint32(b, extended)
	b = append(append(b, user...), 0)
	b = append(append(b, byte(len(auth))), auth...)
	if schema != "" {
		b = append(append(b, schema...), 0)
	}

	b = append(append(b, plugin...), 0)
	if caps.Has(wire.ConnectAttrs) {
		b = wire.AppendString(b, wire.AppendString(wire.AppendString(nil, "program"), "differential"))
	}

	return b
}

// native is the answer of mysql_native_password.
func native(password string, salt []byte) []byte {
	if password == "" {
		return nil
	}
	first := sha1.Sum([]byte(password))
	second := sha1.Sum(first[:])
	mixed := sha1.Sum(append(append([]byte(nil), salt...), second[:]...))
	for i := range mixed {
		mixed[i] ^= first[i]
	}
	return mixed[:]
}

func (c *conn) packet() ([]byte, byte, error) { return wire.ReadPacket(c, nil, wire.MaxPayload) }

func (c *conn) send(seq byte, payload []byte) {
	b, _ := wire.AppendPacket(nil, seq, payload)
	if _, err := c.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// ask sends commands, in one piece, and returns every byte of their answers. A file that is asked
// for is sent between them.
func (c *conn) ask(file []byte, commands ...[]byte) ([]byte, error) {
	size := 0
	for _, payload := range commands {
		size += len(payload) + 64 // headers and attributes
	}
	out := make([]byte, 0, size)
	outstanding := 0
	for _, payload := range commands {
		out, _ = wire.AppendPacket(out, 0, c.attributed(payload))
		if wire.Command(payload[0]) == wire.Execute && wire.AsksForCursor(payload) {
			c.tracker.BeginCursor(0)
		} else {
			c.tracker.Begin(wire.Command(payload[0]), 0)
		}
		switch wire.Command(payload[0]) {
		case wire.CloseStatement, wire.SendLongData, wire.Quit:
		default:
			outstanding++
		}
	}

	if _, err := c.Write(out); err != nil {
		return nil, err
	}

	var answer []byte
	buf := make([]byte, 1<<16)
	for outstanding > 0 {
		n, err := c.Read(buf)
		if err != nil {
			return answer, fmt.Errorf("after %d bytes: %w", len(answer), err)
		}

		if len(answer)+n > cap(answer) {
			answer = slices.Grow(answer, 3*len(answer)+n) // an answer of 16 MiB is not to be copied often
		}
		answer = append(answer, buf[:n]...)
		for rest := buf[:n]; len(rest) > 0; {
			n, _, ended := c.tracker.Scan(rest)
			if rest = rest[n:]; ended {
				outstanding--
			}
		}

		if c.tracker.Opaque() {
			return answer, errors.New("the answer makes no sense")
		}

		if c.tracker.FileWanted() {
			c.tracker.FileSent()
			if _, err := c.Write(file); err != nil {
				return answer, err
			}
		}
	}

	return answer, nil
}

// attributed puts in front of a query's text that it has no attributes, where the server looks for
// them and the test has not thought of any.
func (c *conn) attributed(payload []byte) []byte {
	if !c.caps.Has(wire.QueryAttributes) || payload[0] != byte(wire.Query) || bytes.HasPrefix(payload[1:], attribute) {
		return payload
	}
	return append([]byte{payload[0], 0, 1}, payload[1:]...)
}
