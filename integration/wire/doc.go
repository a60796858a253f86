// Package wire has the tests that say that nobody can tell the proxy from the server: they need
// real servers, and are skipped under -short.
//
//   - differential_test.go sends the same packets directly and through the proxy, and compares
//     every byte of the answers;
//   - matrix_test.go logs in with every plugin, with and without TLS, with many sets of
//     capabilities;
//   - faults_test.go connects and disconnects ten thousand times, properly and not, and looks for what was left behind;
//   - docs/reference/wire.md says which test guards against which pitfall of the protocol.
package wire
