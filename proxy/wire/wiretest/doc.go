// Package wiretest has peers that do what a real client or server will not do on demand: they
// follow a script (Script), or damage the bytes of a real connection on their way (Cut, Delay,
// Split, Alter).
package wiretest
