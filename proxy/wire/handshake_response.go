package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// SSLRequestSize is the size of the payload with which a client asks for TLS:
// the beginning of its response, sent twice.
const SSLRequestSize = 32

// ErrOldProtocol means that the client speaks the protocol of before MySQL 4.1.
var ErrOldProtocol = errors.New("handshake response without PROTOCOL_41")

// HandshakeResponse is what a client answers to the greeting. It is decoded to learn from it
// and never encoded again: what is not understood must still arrive.
type HandshakeResponse struct {
	Capabilities Capability
	MaxPacket    uint32
	Charset      byte
	User         string
	Auth         []byte
	Schema       string
	AuthPlugin   string
	RawPlugin    []byte // the same, as a part of the payload, like Auth
	Attributes   []byte // raw: pairs of length-encoded strings

	whole bool // everything in front of the attributes was there
	tail  int  // how many bytes the attributes, and what is behind them, take
}

// IsSSLRequest reports whether payload asks for TLS instead of logging in.
func IsSSLRequest(payload []byte) bool {
	return len(payload) == SSLRequestSize && Capability(binary.LittleEndian.Uint32(payload)).Has(SSL)
}

// Decode reads the response in payload. The fixed part must be there; after it, the first thing
// that cannot be read ends the decoding without an error, because that is for the server to judge.
func (r *HandshakeResponse) Decode(payload []byte) error {
	*r = HandshakeResponse{}
	if len(payload) < 2 {
		return fmt.Errorf("handshake response: %w", errShort)
	}
	if !Capability(binary.LittleEndian.Uint16(payload)).Has(Protocol41) {
		return ErrOldProtocol
	}
	if len(payload) < SSLRequestSize {
		return fmt.Errorf("handshake response: %w", errShort)
	}

	r.Capabilities = Capability(binary.LittleEndian.Uint32(payload))
	if !r.Capabilities.Has(LongPassword) {
		r.Capabilities |= Capability(binary.LittleEndian.Uint32(payload[28:])) << 32
	}

	r.MaxPacket = binary.LittleEndian.Uint32(payload[4:])
	r.Charset = payload[8]
	r.decodeNames(payload[SSLRequestSize:])
	return nil
}

func (r *HandshakeResponse) decodeNames(b []byte) {
	user, b, ok := bytes.Cut(b, []byte{0})
	if !ok {
		return
	}

	r.User = string(user)
	if r.Auth, b, ok = r.cutAuth(b); !ok {
		return
	}
	if r.Capabilities.Has(ConnectWithDB) {
		schema, rest, found := bytes.Cut(b, []byte{0})
		r.Schema, b, ok = string(schema), rest, found
	}
	if r.Capabilities.Has(PluginAuth) {
		plugin, rest, found := bytes.Cut(b, []byte{0})
		r.AuthPlugin, r.RawPlugin, b, ok = string(plugin), plugin, rest, ok && found
	}

	r.whole, r.tail = ok, len(b)
	if r.Capabilities.Has(ConnectAttrs) {
		r.Attributes, _, _ = String(b)
	}
}

// cutAuth splits off the authentication data, whose length has three spellings.
func (r *HandshakeResponse) cutAuth(b []byte) (auth, rest []byte, ok bool) {
	switch {
	case r.Capabilities.Has(PluginAuthLenenc):
		auth, n, ok := String(b)
		return auth, b[n:], ok
	case r.Capabilities.Has(SecureConnection):
		if len(b) == 0 || len(b)-1 < int(b[0]) {
			return nil, nil, false
		}
		n := 1 + int(b[0])
		return b[1:n], b[n:], true
	default:
		return bytes.Cut(b, []byte{0})
	}
}

// Mask clears capabilities of MySQL's half, in place, in a response or an SSL request. MariaDB's
// half is left alone if those bytes mean something else.
func Mask(payload []byte, caps Capability) {
	had := Capability(binary.LittleEndian.Uint32(payload))
	binary.LittleEndian.PutUint32(payload, uint32(had&^caps))
	if !had.Has(LongPassword) {
		extended := binary.LittleEndian.Uint32(payload[28:])
		binary.LittleEndian.PutUint32(payload[28:], extended&^uint32(caps>>32))
	}
}

// SetSSL sets the bit that asks for TLS, in place, in a response or an SSL request.
func SetSSL(payload []byte) { payload[1] |= byte(SSL >> 8) }
