// Package proxy stands between clients and the server. Clients log in to the server with their own
// accounts; everything passes unchanged; and a few statements, those about TTL, are held back,
// decided on and perhaps answered here.
//
// # The life of a connection
//
//	accept ─► room for one more? ─► PROXY header ─► dial the backend ─► its greeting ─► handshake ────► relay ──► end
//	          (or error 1040)       (if listed)     (or the next)       (or its error)  packet by packet bytes
//
// Backends (backends.go). Servers are asked how they are (health.go, ask.go). New sessions go to the
// first one that is healthy and writable, and those on another end (writer.go); the connections of
// the engine and the catalog follow (owned.go).
//
// Handshake (handshake.go). The server's greeting goes to the client, with some capabilities taken
// out (capability.go); the client's answer goes to the server, and so on until OK or an error. No
// password is known here and none is needed: the salt is the server's own, and so is the connection
// id, which makes KILL work. TLS ends here, on each leg separately (tlsclient.go, tlsbackend.go).
// If the legs are not equally private, two plugins would send the password in a form that the other
// side does not expect, or that strangers could read: the bridge (bridge.go) translates, and
// refuses what it cannot translate. So many logins go on at a time (turnstile.go), and one that the
// client breaks off is brought to its end at the server (conclude.go).
//
// Relay (relay.go). Two goroutines, one for each direction, each with a buffer from a pool while
// there is something to read (inlet.go):
//
//	            ┌────────────────────── session ───────────────────────┐
//	client ────►│ up:   read ─► scanner ─► gate ─────────────► write   │────► server
//	            │                            │ held    ▲               │
//	            │                            ▼         │               │
//	            │                        exchange ─────┘               │
//	            │                            ▲                         │
//	client ◄────│ down: write ◄──────── tracker ◄──────────── read     │◄──── server
//	            └──────────────────────────────────────────────────────┘
//
// The scanner finds the commands, the tracker the ends of the responses (package wire). A chunk is
// written as it was read; nothing is copied, renumbered or allocated for a statement that is not
// ours.
//
// Exchange (exchange.go). A statement that may be ours is held at the gate (gate.go) until it is
// complete and the server has answered everything before it. Then a handler decides: pass it on,
// ask the server something first, change it, answer it, amend the answer. Meanwhile down keeps
// reading, and what it reads goes where the exchange wants it: to the client, or into a buffer.
//
// End. A session ends when either side closes, when it was silent for too long (idle.go), or when
// the proxy drains (drain.go): then each is closed as soon as nothing is lost by that.
// Configuration and certificates are reloaded while the proxy runs (reload.go).
//
// # What never happens here
//
// No statement waits for the catalog or the engine unless it is about TTL. No session is ever moved
// to another connection, and no two share one. A stream that is not understood is passed on
// blindly, never broken. A panic ends one session.
//
// # Size
//
// It has more files than others, and few names: a session passes through all of this, from the
// listener to its end, and its parts share its two connections and the moment at which either may
// be written to. What needs neither is in package wire, and what decides on statements in package
// statement.
package proxy
