// Package catalog keeps what is true: which tables have a policy, what is being deleted now, who
// works on it, and what happened before. It lives in one schema on the backend, so a proxy that
// starts finds everything where the last one left it, and many proxies meet in it.
//
// # The tables
//
//	policy ─────────┬── policy_identity   which incarnation of the table, per server
//	                ├── dormant           what it is a copy of, or which name it has left
//	  one per table ├── pause             row 0 pauses everything
//	                ├── schedule          when the table, or each partition, ran last
//	                ├── row_error         rows that could not be deleted, with the next try
//	                └── job ── task       open work: a job per table or partition, a task per key range
//	job_history                           ended jobs, 90 days
//	run                                   what a whole table expired each time, 90 days
//	node, lease                           proxies and who leads what
//	lineage, generation                   the servers this catalog has lived on, and for how long
//	sample                                what each node did, by the minute, for charts
//	throttle                              how fast rows may be deleted now, and by what signals
//	heartbeat                             a number by which replicas show how far they are
//	latency, probe                        what clients wait for their answers; a row to change for that
//	setting, event, migration             what was set, what was done, how far the schema is
//
// All times are the backend's clock in UTC with microseconds. Nothing here is cached but what
// reports read again and again: the server marks whatever is written, and that is read anew (again.go).
//
// # A policy
//
//	          Stage                Commit
//	(none) ──────────▶ staged ───────────────▶ armed ◀─────────┐
//	                     │ Discard               │ ▲           │ Rearm
//	                     ▼                 Stage │ │ Commit,   │
//	                  (none)                     ▼ │ Discard   │
//	                                          stopped          │
//	                                             │             │
//	          a copy, or out of its name ────▶ dormant ────────┤
//	          identity, column, table gone ──▶ disarmed ───────┘
//
// Every arrow gives the policy a new version. Rows are deleted only while it is armed and enabled,
// and only by tasks planned for its version.
//
// # A job and its tasks
//
//	(none) ─▶ running ◀──▶ paused | waiting for window | needs approval       in job
//	             │                            │
//	             ▼                            ▼
//	    finished | failed | timed out | cancelled | disarmed                  in job_history
//
//	task: waiting ──Claim──▶ running ──Finish──▶ finished
//	         ▲                 │
//	         └──Release, a stop, or a take-over (fence + 1)
//
// # The barrier
//
// Whoever changes or stops a policy writes, in one transaction and in this order: the policy's
// schedule row, the fence of its open tasks, the policy, its pause row. A batch of the engine holds
// its task row and shared locks on the policy and pause rows until it commits. So the change waits
// for the batch, or the batch finds its fence gone; there is no third possibility, not even on a
// cluster where only written rows are compared.
//
// What the package never does: it does not touch user tables (it reads information_schema), it does
// not decide when something is due, and it never deletes a row that is not its own.
//
// # Size
//
// It is the largest package, and its Store has the most methods: a change of a policy, its stage, its
// jobs and their tasks is one transaction, which may not be put together from several packages. What
// needs none of it has left (catalog/setting, tables, report and checkup), and whoever uses the Store
// declares the methods that it needs.
//
// Two parts look as if they could leave, and cannot. What became of a table after a DDL or around
// the proxy (stage_names.go, stage_trace.go, stage_sweep.go, around.go) is found out between the
// locks on policies and the writing of their new states, from policies, rules and stages: a package
// below this one would have to take all of these along, and one above could not be asked from
// within the transaction. What two looks at a table tell without them is in catalog/tables. And the
// Witness, who knows where a catalog has lived, makes servers trusted and says how old a catalog a
// batch may meet: outside there would have to be methods for that, which nobody else may call.
package catalog
