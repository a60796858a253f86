// Package unixsocket opens the addresses that this program listens on, for clients and for the status
// page alike: a process that was killed keeps the next one from no address.
//
// It knows nothing of what is served there, nor who may connect to a socket file.
package unixsocket
