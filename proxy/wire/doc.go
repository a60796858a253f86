// Package wire is the MySQL protocol as values: packets, and two state machines that follow a
// session without owning it. It opens no socket, knows no policy, and imports nothing but the
// standard library.
//
// # Packets
//
// A payload of up to 16 MiB travels in one physical packet, behind three bytes of length and one of
// sequence number; a longer one continues in the next. Greeting, HandshakeResponse, OK, Error,
// Column and ResultSet read (Decode) and write (Append) payloads; AppendPacket and ReadPacket put
// the header around them. What a client and a server say to each other at login is decoded to learn
// from it and at most patched in place, never encoded again, so that what we have never heard of
// still arrives.
//
// # The state machines
//
// Once a client is logged in, both directions are streams of bytes, and a proxy that copies them
// needs to know two things:
//
//	client ──► Scanner ──► Start{Command, Size}           where does a command begin?
//	server ──► Tracker ──► Report{Command, Code, Status}  where does its response end?
//
// Both are given the bytes as they come, in pieces of any size, and find the same whatever the
// pieces are. They read headers and the few bytes that matter, skip the rest, and allocate nothing.
// Neither keeps a reference to what it was given.
//
// The two meet in a queue of outstanding commands inside the tracker: Tracker.Begin is called for
// each command before its bytes reach the server, so that pipelined commands find their responses.
// Which command is answered in which way, and where such an answer ends, is all in one file,
// response.go.
//
// A stream that makes no sense turns its machine opaque: everything passes, and nothing more is
// found. The same happens with a replication stream, which never ends.
//
// # What we add ourselves
//
// ResultSet and OK write answers in the form that the capabilities of the connection require.
// Splice makes the answer of one statement a part of the answer to a packet of many.
//
// # Size
//
// Most of the names are the protocol's own: commands, capabilities, status flags and column types.
package wire
