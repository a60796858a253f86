// Package family deletes rows together with the rows that point at them.
//
//	Forest    which tables have rows that depend on a table's, by which foreign keys; read anew
//	   │      for every task, or the reason why nothing may be deleted
//	   ▼
//	Gather    locks given rows, and whatever depends on them, level by level, up to a number of rows
//	   │      (Part: some of what depends on one row, if that is more)
//	   ▼
//	Family    those rows, and the statements that delete them: one table at a time, deepest first
//
// All of that happens inside the transaction of one batch, behind its barrier, after the batch has
// locked the rows of the table itself and found them expired. A foreign key makes whoever adds a
// child wait for its parent's lock: so once a row is locked and its children have been read, there
// are no others, and the same holds for them, down to the last. Whatever is found locked, or was
// not planned for, ends the transaction.
//
// If the server is to cascade (Forest.Cascade), the statements of a family only look: they count it
// once more before the caller deletes its first rows, and what is behind those afterwards.
//
// The package never begins, commits or decides that a row has expired. It composes statements on
// one table only: a DELETE of several tables breaks replicas, and a cascade, which is left alone unless
// somebody asks for it, is not in the binary log of MariaDB, nor in that of MySQL before 9.6.
package family
