// Package transcript reads what a page of documentation shows of a conversation with the database,
// and compares it with what really happens.
//
// A page shows statements in two forms. In a block of SQL, what a statement prints follows it in
// comments; in a block that shows a terminal, statements stand behind the client's prompt:
//
//	```sql                                     ```console
//	SELECT 1;                                  mysql> SELECT 1;
//	-- +---+                                   +---+
//	-- | 1 |                                   | 1 |
//	```                                        ```
//
// A blank line ends what is shown; comments behind it are remarks. In what is shown, … stands for
// anything: in a line for the rest of it or a part, alone for any number of lines. Blanks count as
// one, and a moment in time is as good as any other.
package transcript
