// Package ddl says what an SQL text asks of us: text in, values out.
//
// It owns the TTL syntax. A text goes through it in three steps, and most stop at the first:
//
//  1. Candidate looks at the bytes without allocating and answers whether the text may concern us;
//  2. Parse splits the text at its semicolons and reads each part into a Statement, whose Action says what the
//     part does to which tables, and whose Clause holds the TTL options that were found;
//  3. Statement.Forward returns the bytes for the server: every byte of the original except the clause and the
//     one comma that separated it.
//
// Nothing is ever printed back from a syntax tree. TiDB's parser judges the cut clause, rewrapped on a dummy table;
// it never sees the user's statement, because it refuses much that MySQL and MariaDB accept. Names, specs, column
// definitions and foreign keys are found by one reader over tokens, for both dialects.
//
// The package knows no connection, no catalog and no clock, and imports nothing of ours.
package ddl
