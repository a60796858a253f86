package proxy

import "github.com/ttlproxy/ttlproxy/proxy/wire"

// masked are the capabilities that are taken out of the server's greeting, and out of the answer of a client
// which asks for them all the same. docs/reference/wire.md tells users why:
//
//   - compression (zlib, zstd): packets would be hidden inside other packets;
//   - several commands in one packet (MariaDB): no server has it any more, and it would hide commands from us.
const masked = wire.Compress | wire.CompressZstd | wire.ComMulti

// offered is what a client is offered of what the server has. TLS is a matter of each leg.
func offered(server wire.Capability, tls bool) wire.Capability {
	c := server &^ (masked | wire.SSL)
	if tls {
		c |= wire.SSL
	}
	return c
}
