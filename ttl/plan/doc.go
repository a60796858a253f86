// Package plan works out, before a single row is deleted, what may be deleted and how.
//
// It answers four questions about one table (or one partition) with a policy:
//
//	which rows?      Cutoff       the database's clock minus the policy's interval, in the policy's zone
//	what is there?   tables.Facts columns, keys, triggers, foreign keys, read from information_schema
//	how many?        Estimate     by the optimizer's range estimates and by small samples along the key
//	by which way?    Choice       index walk, key-range walk, bounded DELETE, or refuse; always with a reason
//
// and it writes the statements that carry the answer out (Statements). The engine runs them,
// EXPLAIN TTL shows them; both get the same text from here.
//
// # The predicate
//
// A row is expired when its TTL column is at or after the floor and strictly before the cutoff:
//
//	c >= '1970-01-02 00:00:00' AND c < '2026-03-01 12:00:00'
//
// Both bounds are literals. NULL, zero dates and dates before the floor never satisfy it. Where
// rows are walked along the key the predicate is wrapped in IS TRUE, which changes nothing about
// its meaning and hides it from the range optimizers of both servers, so that they cannot swap the
// key range for the index on time. It is the wrapped form that decides what goes. There a TIMESTAMP
// is UNIX_TIMESTAMP(c), with numbers for bounds: that means the same in every session, also in one
// whose zone a trigger changes from one row to the next.
//
// The package only reads. It never starts a transaction, never writes, and holds no connection:
// every function that needs the server takes the connection to ask.
//
// # Size
//
// Each plan has its choice, its costs and its statements here, those of the expiry queue, too: all of
// them repeat the one predicate, and what EXPLAIN TTL shows has to be what the engine does.
package plan
