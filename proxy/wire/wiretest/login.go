package wiretest

import (
	"encoding/binary"
	"fmt"
	"net"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// Capabilities are what a scripted server offers if the test does not care.
const Capabilities = wire.FoundRows | wire.LongFlag | wire.ConnectWithDB | wire.LocalFiles | wire.Protocol41 |
	wire.Transactions | wire.SecureConnection | wire.MultiStatements | wire.MultiResults | wire.PSMultiResults |
	wire.PluginAuth

// Greeting is the greeting of a scripted server.
func Greeting(caps wire.Capability) wire.Greeting {
	return wire.Greeting{
		Version: "8.0.0-scripted", ConnectionID: 7, Capabilities: caps, Charset: 45, Status: wire.Autocommit,
		Salt: []byte("abcdefghijklmnopqrst"), AuthPlugin: "mysql_native_password",
	}
}

// ServeLogin is a server's side of a login that ends well.
func ServeLogin(caps wire.Capability) Step {
	g := Greeting(caps)
	return Script{
		Send(0, g.Append(nil)),
		Receive(func(payload []byte, seq byte) error {
			var r wire.HandshakeResponse
			if err := r.Decode(payload); err != nil {
				return err
			}
			if seq != 1 {
				return fmt.Errorf("got a response with number %d, want 1", seq)
			}

			return nil
		}),
		Send(2, wire.OK{Status: wire.Autocommit}.Append(nil)),
	}
}

// LogIn is a client's side of the same.
func LogIn(caps wire.Capability) Step {
	return stepFunc(func(c net.Conn) error {
		if _, _, err := wire.ReadPacket(c, nil, wire.MaxPayload); err != nil {
			return err
		}
		return Script{
			Send(1, Response(caps)),
			Expect(2, wire.OK{Status: wire.Autocommit}.Append(nil)),
		}.Play(c)
	})
}

// Response is a client's response to a greeting.
func Response(caps wire.Capability) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(caps))
	b = binary.LittleEndian.AppendUint32(b, 1<<24)
	b = append(b, 45)
	b = append(b, make([]byte, 19)...)
	b = binary.LittleEndian.AppendUint32(b, uint32(caps>>32))
	b = append(b, "user\x00"...)
	b = append(b, 0)

	if caps.Has(wire.ConnectWithDB) {
		b = append(b, "schema\x00"...)
	}
	if caps.Has(wire.PluginAuth) {
		b = append(b, "mysql_native_password\x00"...)
	}

	return b
}
