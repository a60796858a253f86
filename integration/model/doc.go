// Package model holds the test that tries what nobody thought of: random statements of random
// accounts, against a small model of which rows may be deleted.
//
//	seed ──► script ──► sessions (through a proxy, around it, killed) ──► server ──► look ──► model ──► verdict
//	            ▲                                                                                        │
//	            └──────────────────────────────── shrink ◄──────────────────────────────────────────────┘
//
// A script is a list of steps on a handful of tables in two schemas. Each step is what some client
// could do: declare, change and remove policies, rename, swap, exchange, drop and create tables,
// pause and resume, prepare here and execute there, with comments, in packets, behind temporary
// tables, with flags that few drivers know, through the proxy or around it, while it is killed.
// Steps come in shapes (an online schema change, a table replaced, a prepared statement …), which
// are random themselves and are interleaved.
//
// The model knows nothing of the product. After each step it is told what the server answered and
// which rows are in which table, and keeps for every name the policies that may be in force: only
// those that an account with the rights that the server itself requires has asked for, on the table
// that was there when it asked. A row is safe as long as none of them covers it; once one does, it
// may be deleted from then on. If an answer was lost, both outcomes are possible. A row that is
// safe and missing fails the test, and so does an OK for something the account had no right to.
//
// A model of what may be deleted cannot say what must be: so tables whose policy is beyond doubt
// are watched until what has expired in them is gone, and a run in which that never happens fails.
//
// Every table has a row that never expires, its marker, which says which table this is, whatever
// its name.
//
// What fails is run again with fewer steps until no step can be left out; what is left is printed
// as statements.
package model
