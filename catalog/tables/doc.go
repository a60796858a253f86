// Package tables is what a user's table is, as far as it matters to deleting rows: what
// information_schema says about it, and how its keys are read, written, compared and divided.
//
//	Facts ─┬─ Layout ─┬─ Columns   each with its Kind: how values are read, and written exactly
//	       │          └─ Indexes ─► PagingKey, TimeIndex
//	       ├─ Partitions           and where each ends
//	       └─ Children             foreign keys that point here
//
//	Identity ──┐
//	Shape ─────┴─ Seen ─► Compare  is it the table that it was?
//
// It is called tables because a variable called table is in every other function.
//
// # Keys
//
// A Key is a position in the order of a paging key: one Value per column, exact to the byte. Values
// travel as the server's own text (integers, decimals, dates in UTC) or its own bytes (strings,
// binary), and come back through one literal writer, so that what was read is what is compared,
// under the column's own collation. A midpoint of two keys lies somewhere between them; it need not
// be a key of a row.
//
// # Identity
//
// A name proves nothing: tables are dropped and recreated, renamed, swapped and restored. What
// tells a table from whatever takes its name are InnoDB's id and its CREATE_TIME (Identity), of
// each partition as well, and what it keeps on every server: its columns and its key (Shape).
// Compare says how far what is seen now is from what is remembered. In doubt it is another table.
//
// # Size
//
// Most of its names are those of columns, keys and foreign keys, which plans, jobs, statements and
// the catalog all speak of. Parted, the halves would need each other: what a table is called, by
// what its rows are named, and what points at them are read together.
//
// # What never happens here
//
// The package only reads. It knows no policy, no cutoff and no plan, and holds no connection: every
// function that needs the server takes the connection to ask.
package tables
