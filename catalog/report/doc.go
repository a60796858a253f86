// Package report turns what the catalog knows into what people read: the lists of SHOW TTL …, of
// `ttlproxy status` and of the status page, so that all three use the same words.
//
//	catalog rows ─► Snapshot ─► Work (one table or partition) ─► Progress, Flow, Verdict ─► List (columns and rows)
//
// Everything after Snapshot is arithmetic on values: no clock but the one in the snapshot, which is
// the database's, and no query to the server. A List names its columns with their types and says
// for each row which table it is about, so that whoever shows it can leave out what the reader may
// not see.
//
// Nobody else reads a Snapshot or judges one: whether a job may run (MayRun), what is due
// (catalog.Timing) and how a wait for a job ends (Await) are here as well. The package starts and
// stops nothing itself.
//
// # Size
//
// Every list is a file with a name or two. They share the snapshot, its judges and the words for
// both, which would have to be exported if the lists were apart.
package report
