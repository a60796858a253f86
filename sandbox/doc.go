// Package sandbox starts a private MariaDB or MySQL for one process and removes it afterwards.
//
// It serves `ttlproxy demo` and the tests, which both need a real server within seconds and want
// nothing left behind. [Find] looks for a server program on this machine, [Start] runs it:
//
//	Find ─► template ─► copy ─► server process ─► ready ─► … ─► Close
//	         (once per version, in the user's cache folder)       (process ended, directory removed)
//
// The server listens on a free port of 127.0.0.1 and on a socket in its own directory; root has no
// password, unless the server is to be locked: then no other user of the machine can log in.
// Preparing an empty data directory takes longer than starting a server, so it is done once per
// version and copied from then on. Any number of processes may do so at once.
//
// A server never outlives the process that started it, however that ends: on Linux the kernel kills
// it together with its parent, and on every system a guard (a shell that waits on a pipe) ends it
// and removes its directory.
//
// Where no server is installed but Docker is, [StartContainer] runs one in a container, which its
// guard removes likewise.
//
// The package never touches a server that it did not start, and writes only to the cache folder and
// to the server's own directory.
package sandbox
