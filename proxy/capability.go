package proxy

import "github.com/ttlproxy/ttlproxy/proxy/wire"

// masked are the capabilities that are removed from the server's greeting, and from the answer of a
// client that asks for them all the same. docs/reference/wire.md tells users why:
//
//   - compression (zlib, zstd): packets would be hidden inside other packets;
//   - several commands in one packet (MariaDB): no server has it any more, and it would hide
//     commands from us;
//   - names without schemas: the server would drop the shop of shop.orders and take orders of the
//     current schema, whereas rights and policies are judged for the table that the statement
//     names.
const masked = wire.Compress | wire.CompressZstd | wire.ComMulti | wire.NoSchema

// offered is the part of the server's capabilities that a client is offered. TLS is a matter of
// each leg.
func offered(server wire.Capability, tls bool) wire.Capability {
	c := server &^ (masked | wire.SSL)
	if tls {
		c |= wire.SSL
	}
	return c
}
