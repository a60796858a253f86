// Package clients drives real drivers and command-line clients, directly and through the proxy, and
// compares what they print.
//
// A client here is a small program in its own language (node/, python/, php/, java/, c/) with one
// contract: it takes HOST PORT USER PASSWORD DATABASE MODE, and prints a line per step, with values
// as text and nothing that differs from run to run. In mode text or prepared it runs the statements
// it reads from standard input; in mode features it walks through what only that driver does: bulk
// commands, cursors, local files, multi-results, large packets, KILL. So a test needs to know
// nothing about a driver: whatever it prints directly, it has to print through the proxy.
//
// A driver that is not installed is skipped and named, unless TTLPROXY_TEST_CLIENTS=all (as in
// `make check-all`).
package clients
