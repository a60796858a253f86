package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Greeting is what a server says first.
type Greeting struct {
	Version      string
	ConnectionID uint32
	Capabilities Capability
	Charset      byte
	Status       Status
	Salt         []byte // without the closing zero
	AuthPlugin   string

	tail int // where the fixed part behind the version begins
}

// ErrProtocol means that a greeting is not of protocol version 10.
var ErrProtocol = errors.New("not a greeting of protocol version 10")

// Offsets behind the version's closing zero.
const (
	greetingSalt1      = 4
	greetingCapsLow    = 13
	greetingCharset    = 15
	greetingStatus     = 16
	greetingCapsHigh   = 18
	greetingSaltLength = 20
	greetingMariaDB    = 27 // the last four of ten reserved bytes
	greetingSalt2      = 31
)

// Decode reads the greeting in payload. The salt and the strings are copied.
func (g *Greeting) Decode(payload []byte) error {
	if len(payload) == 0 || payload[0] != 10 {
		return ErrProtocol
	}

	end := bytes.IndexByte(payload, 0)
	if end < 0 || len(payload) < end+1+greetingSalt2 {
		return fmt.Errorf("greeting: %w", errShort)
	}

	g.Version = string(payload[1:end])
	g.tail = end + 1
	b := payload[g.tail:]
	g.ConnectionID = binary.LittleEndian.Uint32(b)
	low, high := binary.LittleEndian.Uint16(b[greetingCapsLow:]), binary.LittleEndian.Uint16(b[greetingCapsHigh:])

	g.Capabilities = Capability(low) | Capability(high)<<16
	if !g.Capabilities.Has(LongPassword) {
		g.Capabilities |= Capability(binary.LittleEndian.Uint32(b[greetingMariaDB:])) << 32
	}

	g.Charset = b[greetingCharset]
	g.Status = Status(binary.LittleEndian.Uint16(b[greetingStatus:]))
	g.Salt = append([]byte(nil), b[greetingSalt1:greetingSalt1+8]...)
	rest := b[greetingSalt2:]
	n := min(max(13, int(b[greetingSaltLength])-8), len(rest))
	g.Salt = append(g.Salt, bytes.TrimRight(rest[:n], "\x00")...)
	name, _, _ := bytes.Cut(rest[n:], []byte{0})
	g.AuthPlugin = string(name)

	return nil
}

// Patch writes caps into the payload that was decoded, in place. No byte is moved: what we do not
// know stays as it is.
func (g *Greeting) Patch(payload []byte, caps Capability) {
	b := payload[g.tail:]
	binary.LittleEndian.PutUint16(b[greetingCapsLow:], uint16(caps))
	binary.LittleEndian.PutUint16(b[greetingCapsHigh:], uint16(caps>>16))
	if !caps.Has(LongPassword) {
		binary.LittleEndian.PutUint32(b[greetingMariaDB:], uint32(caps>>32))
	}
	g.Capabilities = caps
}

// Append appends the greeting as a payload, for tests and for refusals before there is a backend.
func (g *Greeting) Append(dst []byte) []byte {
	dst = append(dst, 10)
	dst = append(append(dst, g.Version...), 0)
	dst = binary.LittleEndian.AppendUint32(dst, g.ConnectionID)
	salt := make([]byte, 20)
	copy(salt, g.Salt)
	dst = append(append(dst, salt[:8]...), 0)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(g.Capabilities))
	dst = append(dst, g.Charset)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(g.Status))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(g.Capabilities>>16))
	dst = append(dst, 21, 0, 0, 0, 0, 0, 0)
	extended := uint32(0)

	if !g.Capabilities.Has(LongPassword) {
		extended = uint32(g.Capabilities >> 32)
	}

	dst = binary.LittleEndian.AppendUint32(dst, extended)
	dst = append(append(dst, salt[8:]...), 0)
	return append(append(dst, g.AuthPlugin...), 0)
}
