// Package ddl says what an SQL text asks of us: text in, values out.
//
// It owns the TTL syntax. A text passes through it in three steps, and most stop at the first:
//
//  1. Candidate looks at the bytes without allocating and answers whether the text may concern us;
//  2. Parse splits the text at its semicolons and reads each part into a Statement, whose Action
//     says what the part does to which tables, and whose Clause holds the TTL options that were
//     found;
//  3. Statement.Forward returns the bytes for the server: every byte of the original except the
//     clause and the one comma that separated it.
//
// # The grammar we add
//
//	table option = "TTL" [ "=" ] column "+" "INTERVAL" literal unit
//	             | "TTL_ENABLE" [ "=" ] string                  (* 'ON' or 'OFF' *)
//	             | "TTL_JOB_INTERVAL" [ "=" ] string            (* a Duration *)
//	             | extension [ "=" ] ( string | number ) ;      (* see extension.go *)
//	alter spec   = "REMOVE" "TTL" ;
//	literal      = number | [ introducer ] string | "TRUE" | "FALSE" ;
//	unit         = a Unit, or SQL_TSI_ and a simple Unit ;
//
// The admin statements are in grammar.go.
//
// # How a clause is found and cut
//
//	text ──lex──► tokens with their places ──reader──► tables, specs, columns ──optionList──► clause + pieces ──► cuts
//
// An option is ours by its position, never by its word: columns, tables and strings may be called
// ttl. Nothing is ever printed from a syntax tree. TiDB's parser judges the clause, put on a dummy
// table; it never sees the user's statement, because it refuses much that MySQL and MariaDB accept.
//
// Comments. The server runs some (/*! */), we look into some that it skips (/*T![ttl] */). Tokens
// of the second kind are hidden: they may be options of ours and otherwise do not count.
//
// # What never happens here
//
// The package knows no connection, no catalog and no clock, and imports nothing of ours.
//
// # Size
//
// It has more names than others: one for each error number, option and action, and no more than one.
package ddl
