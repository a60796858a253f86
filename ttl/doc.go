// Package ttl is the deletion engine: it starts jobs when policies are due, moves them on until they
// end, and has a crew that carries out their tasks.
//
// # The life of a job
//
//	tick ── due? ── recognize the table ── pause? ── cutoff ── estimate ── plan ── brake? ── split
//	 by the database's clock                                                              │
//	                                                                                      ▼
//	        job: running | paused (why) | needs approval (how many) | waiting for window
//	         │
//	         ├─ task ─ any node, one at a time: package work
//	         ├─ task
//	         └─ task
//	         ▼
//	all tasks finished ── summary ── history
//
// Tables whose rows should go within seconds are looked at before they are due, many with one
// statement: if a job would find nothing, there is none (looks).
//
// One node, the holder of a lease, starts the jobs that are due; any node starts those that
// somebody asks its process for, and works on tasks. A change that this process records wakes its
// engine; what others record is seen by the next tick at the latest. A task that loses its node is
// claimed by another and resumes after the last committed key.
//
// # Safety rules
//
//  1. A row is deleted only if it has expired: the DELETE repeats the predicate, with the job's
//     cutoff as a literal. NULL, zero dates and dates before the floor never expire.
//  2. A batch is judged by the server inside its own transaction: task, fence, batch number, policy
//     version, pause. What was stopped, changed or taken over in the meantime deletes nothing,
//     however late the packet arrives.
//  3. Never another table: InnoDB's ids and CREATE_TIME are part of the DELETE, where the metadata
//     lock is held already.
//  4. Any doubt stops deletion: read-only server, running applier, STATEMENT binlog, changed zone,
//     catalog away. The reason is in SHOW TTL JOBS or SHOW TTL NODES.
//  5. Nobody waits for the engine: it waits one second for metadata locks and skips locked rows,
//     and wait_timeout frees what a frozen engine has locked.
//  6. A surprising number of rows waits for APPROVE.
//  7. The binlog is never switched off; each DELETE carries a comment that names job, task and
//     policy.
//  8. Cutoffs are computed once per job, in Go, from the database's clock in the policy's zone
//     (package plan).
//  9. The stop file works when the catalog does not.
//
// ARCHITECTURE.md names the test behind each of them.
//
// # What it never does
//
// It does not talk to clients or to the proxy; both meet in the catalog. It does not decide what a
// policy means (package plan), delete a row itself (package work), nor keep state of its own: kill
// it anywhere, and the catalog has everything there is to know.
package ttl
