// Package checkup finds out whether rows can be deleted on a server, and what is in the way, for
// `ttlproxy check`.
//
//	Run ─ one look after the other ─► Finding: ok, or a warning or an error with what to do about it
//
// It sees a server as the service account does. Rights are tried, not read: the server's answer is
// the truth even with roles, proxy users and plugins. Nothing in the catalog needs this package; it
// uses the catalog's own checks.
//
// What keeps everybody from writing is looked at first; then no rights are tried that the server would refuse anyway.
// A look that fails is a finding, too, and the others are taken all the same.
//
// What never happens here: nothing is repaired, and nothing is changed except for a table with a
// name that nobody else can have, which is created and dropped in the catalog's schema, if there is
// a catalog. It is dropped also if a right is missing or somebody ends the checkup; one that could not be
// dropped is swept by a later checkup.
package checkup
