// Package chaos holds the test of the one property that matters most: a row that has not expired
// under the policy in force is never deleted, whatever dies, and whenever.
//
//	workload ──► proxies (killed, frozen) ──► server (killed) ──► binlog ──► judge
//
// The workload is an application: it inserts, refreshes and deletes rows through several proxies,
// changes policies, switches them off and on, pauses and resumes, renames tables, and swaps tables
// and columns behind the proxies' back; tables that were swapped out are dropped, and others made
// in the same second take their place. Meanwhile proxies are killed and frozen, and the server is
// killed. All of it follows from one seed, which is logged.
//
// The judge knows nothing of what the engine says it did. It reads the server's binary log from the
// beginning, which has every deleted row with all its columns, in one sequence with every change of
// the policy table. A deletion that the application does not own up to (its statements carry a
// mark) must have been right at that very point of the log: a policy on that very table, armed, not
// paused, and the row past its time.
//
// Rows that depend on others have a test of their own: random forests of tables, one after the other,
// and a ledger of what applications have committed, from which follows what must be left.
//
// TTLPROXY_CHAOS_TIME says how long, as `make chaos` does; without it the test is skipped.
// TTLPROXY_CHAOS_SEED repeats a run, as far as a run with real processes can be repeated.
package chaos
