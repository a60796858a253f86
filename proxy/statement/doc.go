// Package statement decides what becomes of a statement about TTL, and of one on a table that has a
// policy. It is the handler of a proxy, which gives it one exchange at a time; it never sees the
// rest of the traffic.
//
// # The life of a statement
//
//	held ─► concerned? ─no──────────────────────────────────────────► pass
//	            │yes
//	            ▼
//	       situation (one question on the client's connection) ─► ddl.Parse ─► one request for each statement
//	                                                                              │
//	   ┌────────────┬─────────────┬──────────────────┬────────────────────┬───────┴─────┐
//	   ▼            ▼             ▼                  ▼                    ▼             ▼
//	refuse        admin        pure TTL          a policy is new       follow        decorate
//	(nothing has  SHOW TTL …,  empty ALTER,      or goes along         stop,         SHOW CREATE
//	happened)     SET ttl_…    Declare           stage, forward,       forward,      TABLE
//	                                             commit                commit
//
// Deciding (handler.go, concern.go, request.go). A text is read twice: in every way that a session's
// settings could make the server read it, to see whether it concerns us at all, and then, with the
// session's own settings, to act on it.
//
// Rights (right.go, probe.go, control_rights.go). Whether a client may do what it wants, its own
// server is asked, on its own connection and as its own account.
//
// Following (create.go, alter.go, move.go, follow.go, carry.go). The policies are stopped, the
// server runs the DDL without our clauses, and what it made of the tables is committed.
//
// Admin SQL (admin.go and the files of its statements: lists.go, explain.go, run.go, control.go,
// approve.go, trust.go, set.go, read.go, variables.go). What no server knows is answered by a SELECT
// over rows of ours, which the client's own server runs.
//
// Prepared statements (prepare.go, named.go). The server has the text without our clauses; every
// EXECUTE is decided in the situation at that time.
//
// # Size
//
// It has many files because there are many statements, each decided in one of its own, and few names
// outside, because only a handler is needed there. All of them work on the same request: its session,
// its probes and its intents.
//
// # What never happens here
//
// No answer of OK for a policy that is not durable. No right that the client does not have on its
// own connection. Nothing is remembered about a session between two statements except what it has
// prepared, and the proxy remembers that.
package statement
