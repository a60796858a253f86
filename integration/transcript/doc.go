// Package transcript reads what a page of documentation shows of a conversation with the database,
// and compares it with what really happens.
//
// A page shows statements in two forms. In a block of SQL, what a statement prints follows it in
// comments; in a block that shows a terminal, statements follow the client's prompt:
//
//	```sql                                     ```console
//	SELECT 1;                                  mysql> SELECT 1;
//	-- +---+                                   +---+
//	-- | 1 |                                   | 1 |
//	```                                        ```
//
// A blank line ends what is shown; comments behind it are remarks. In what is shown, … stands for
// anything: within a line for the rest or a part of it, alone for any number of lines. Several
// blanks count as one, and all points in time are equal.
package transcript
