package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

func TestGreetingRoundTrip(t *testing.T) {
	t.Parallel()
	want := Greeting{
		Version: "10.11.0-MariaDB", ConnectionID: 42,
		Capabilities: Protocol41 | PluginAuth | SSL | CacheMetadata | Progress,
		Charset:      45, Status: Autocommit, Salt: []byte("abcdefghijklmnopqrst"), AuthPlugin: "ed25519",
	}
	payload := want.Append(nil)

	var got Greeting
	if err := got.Decode(payload); err != nil {
		t.Fatal(err)
	}
	if got.Version != want.Version || got.ConnectionID != 42 || got.Capabilities != want.Capabilities ||
		!bytes.Equal(got.Salt, want.Salt) || got.AuthPlugin != want.AuthPlugin || got.Status != Autocommit {
		t.Errorf("got %+v, want %+v", got, want)
	}

	got.Patch(payload, want.Capabilities&^(SSL|CacheMetadata))
	if err := got.Decode(payload); err != nil || got.Capabilities != Protocol41|PluginAuth|Progress {
		t.Errorf("got %#x, %v after patching", got.Capabilities, err)
	}
}

// MySQL's greeting has reserved bytes where MariaDB's has its extended capabilities.
func TestGreetingOfMySQLHasNoExtendedCapabilities(t *testing.T) {
	t.Parallel()
	g := Greeting{Version: "9.7.0", Capabilities: LongPassword | Protocol41 | CacheMetadata}
	var got Greeting
	if err := got.Decode(g.Append(nil)); err != nil || got.Capabilities != LongPassword|Protocol41 {
		t.Errorf("got %#x, %v", got.Capabilities, err)
	}
}

func TestGreetingRefusesWhatIsNone(t *testing.T) {
	t.Parallel()
	whole := (&Greeting{Version: "8"}).Append(nil)
	for n := range 34 {
		if err := new(Greeting).Decode(whole[:n]); err == nil {
			t.Errorf("%d bytes were taken for a greeting", n)
		}
	}
	if err := new(Greeting).Decode([]byte{9, 0}); !errors.Is(err, ErrProtocol) {
		t.Errorf("got %v, want ErrProtocol", err)
	}
}

// response is a client's response with authentication data of this length in the spelling that caps
// ask for.
func response(caps Capability, auth []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(caps))
	b = append(b, 0, 0, 0, 1, 45)
	b = append(b, make([]byte, 19)...)
	b = binary.LittleEndian.AppendUint32(b, uint32(caps>>32))
	b = append(b, "ann\x00"...)

	switch {
	case caps.Has(PluginAuthLenenc):
		b = AppendString(b, auth)
	case caps.Has(SecureConnection):
		b = append(append(b, byte(len(auth))), auth...)
	default:
		b = append(append(b, auth...), 0)
	}

	if caps.Has(ConnectWithDB) {
		b = append(b, "shop\x00"...)
	}
	if caps.Has(PluginAuth) {
		b = append(b, "p\x00"...)
	}
	if caps.Has(ConnectAttrs) {
		b = AppendString(b, "\x01k\x01v")
	}

	return b
}

func TestHandshakeResponse(t *testing.T) {
	t.Parallel()
	for _, spelling := range []Capability{0, SecureConnection, PluginAuthLenenc} {
		caps := Protocol41 | ConnectWithDB | PluginAuth | ConnectAttrs | CacheMetadata | spelling
		var r HandshakeResponse
		if err := r.Decode(response(caps, []byte("secret"))); err != nil {
			t.Fatal(err)
		}
		if r.User != "ann" || string(r.Auth) != "secret" || r.Schema != "shop" || r.AuthPlugin != "p" ||
			string(r.Attributes) != "\x01k\x01v" || r.Capabilities != caps {
			t.Errorf("%#x: got %+v", spelling, r)
		}
	}
}

// Attributes are added in front of the client's, and nobody can forge them.
func TestAttributesAreAdded(t *testing.T) {
	t.Parallel()
	for _, spelling := range []Capability{0, SecureConnection, PluginAuthLenenc} {
		before := response(Protocol41|ConnectWithDB|PluginAuth|ConnectAttrs|spelling, []byte("secret"))
		before = append(before, 3) // the level of a compression
		forged := WithAttributes(before, Attribute{"_ip", "1.2.3.4"})
		after := WithAttributes(forged, Attribute{"_ip", "::1"}, Attribute{"_port", "99"})

		var r HandshakeResponse
		if err := r.Decode(after); err != nil {
			t.Fatal(err)
		}

		const want = "\x03_ip\x03::1\x05_port\x0299\x01k\x01v"
		if r.User != "ann" || string(r.Auth) != "secret" || r.Schema != "shop" || r.AuthPlugin != "p" ||
			string(r.Attributes) != want || after[len(after)-1] != 3 {
			t.Errorf("%#x: got %+v, want attributes %q", spelling, r, want)
		}
	}

	none := response(Protocol41|PluginAuth, []byte("secret"))
	if got := WithAttributes(none, Attribute{"_ip", "::1"}); string(got) != string(none) {
		t.Errorf("got %q of a response without attributes", got)
	}

	short := response(Protocol41|PluginAuth, nil)
	short = short[:len(short)-1]
	if got := WithAttributes(short, Attribute{"_ip", "::1"}); string(got) != string(short) {
		t.Errorf("got %q of a response that is cut short", got)
	}
}

func TestHandshakeResponseOfOldClients(t *testing.T) {
	t.Parallel()
	if err := new(HandshakeResponse).Decode([]byte{5, 0, 0, 0, 1, 'u', 0}); !errors.Is(err, ErrOldProtocol) {
		t.Errorf("got %v, want ErrOldProtocol", err)
	}
	if err := new(HandshakeResponse).Decode([]byte{5, 2, 0}); err == nil {
		t.Error("got nil for three bytes")
	}
}

func TestMaskChangesOnlyItsBits(t *testing.T) {
	t.Parallel()
	b := response(Protocol41|Compress|CompressZstd|ComMulti|CacheMetadata, nil)
	Mask(b, Compress|CompressZstd|ComMulti)
	if want := response(Protocol41|CacheMetadata, nil); !bytes.Equal(b, want) {
		t.Errorf("got %q, want %q", b, want)
	}

	mysql := response(LongPassword|Protocol41|Compress, nil)
	copy(mysql[28:], "\xff\xff\xff\xff")
	Mask(mysql, Compress|ComMulti)
	if !bytes.Equal(mysql[28:32], []byte("\xff\xff\xff\xff")) {
		t.Error("reserved bytes of a MySQL client were changed")
	}

	SetSSL(b)
	if !Capability(binary.LittleEndian.Uint32(b)).Has(SSL) {
		t.Error("SSL was not set")
	}
}

func TestEffectiveCapabilities(t *testing.T) {
	t.Parallel()
	maria := Protocol41 | CacheMetadata | DeprecateEOF
	for _, c := range []struct{ client, server, want Capability }{
		{maria, maria, maria},
		{maria | LongPassword, maria, Protocol41 | DeprecateEOF},
		{Protocol41, maria, Protocol41},
	} {
		if got := Effective(c.client, c.server); got != c.want {
			t.Errorf("%#x and %#x: got %#x, want %#x", c.client, c.server, got, c.want)
		}
	}
}
