// Package work carries out tasks: it claims one, walks through its range, and deletes what has
// expired in small batches, through a barrier that makes "stopped" mean stopped.
//
//	Crew ─ worker ─ claim ─▶ assignment ─▶ walk ─▶ block ─▶ block ─▶ … ─▶ end of the range
//	                         task, job,            │ one packet, one transaction:
//	                         policy                │   BEGIN
//	                                               │   enter    the task is ours, the policy in force
//	                                               │   DELETE   keys AND expired AND entered AND the same table
//	                                               │   leave    cursor and counts
//	                                               │   COMMIT
//	                                               └ a slice of time is over: the task is given back
//
// Who does what:
//
//   - A Crew (crew.go) keeps as many workers at work as the settings say; a worker (worker.go)
//     claims tasks and carries them through (carry.go).
//   - A walk (walk.go, around.go) decides which rows a batch is about, and goes round those that are
//     locked or cannot be deleted (resting.go). It sees the table through an interface: on the
//     server that is a serverTable.
//   - The barrier (barrier.go) writes a batch as a packet (packet.go), which tells from the answers
//     how it ended. An error of the server has a consequence (classify.go).
//   - A Session (session.go) is one connection, prepared so that nothing on the server changes what
//     our statements mean; the Pool (pool.go) has them.
//   - The Recognizer (recognizer.go) tells whether a table still is the one its policy was declared
//     on, before a job and as a condition in every DELETE.
//
// The package does not decide which jobs there are, when one starts or waits, nor how fast rows may
// go (packages ttl and pace); it writes no predicate (package plan). It knows no engine: whatever
// it needs of one is in its Config. Nothing that it remembers decides whether a row is deleted: the
// server judges that, inside the batch.
package work
