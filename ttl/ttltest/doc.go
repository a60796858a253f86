// Package ttltest has what the tests of an engine and those of its workers stand on: a Bed is a
// catalog on a real server, a table of rows of which half have expired, and one open task on it.
// What runs there is up to the tests.
package ttltest
