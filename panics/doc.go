// Package panics keeps a bug in one part of the program from ending the others: clients' connections go on although
// nothing is deleted for a moment.
//
// A goroutine that nobody waits for takes the whole process with it when it panics. Here somebody always waits: a Group
// passes the panic of one of its functions on to whoever waits for them, up to a root that can do something about it.
// That is a session, which answers its client and ends alone; the server of the page; or Keep, which begins a part of
// the program anew, with nothing left of what it knew.
package panics
