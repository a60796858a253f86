package ddl

import (
	"fmt"
	"strings"
)

// The grammar of the statements that we answer, as errors and the documentation show it.
const (
	usageShow = "SHOW TTL {TABLES | JOBS | TASKS | HISTORY | ERRORS | EVENTS} [FOR table] [FROM schema] " +
		"[LIKE 'pattern' | WHERE condition] [LIMIT n]"
	usageWhole = "SHOW TTL {NODES | STATUS | VARIABLES | SESSIONS | THROTTLE} " +
		"[LIKE 'pattern' | WHERE condition] [LIMIT n]"
	usagePartitions = "SHOW TTL PARTITIONS FOR table [LIKE 'pattern' | WHERE condition] [LIMIT n]"

	usageExplain = "EXPLAIN [FORMAT = {TRADITIONAL | JSON}] TTL {table | ALTER TABLE table TTL = column + INTERVAL n " +
		"unit …}"
	usageRun     = "RUN TTL JOB FOR table [WAIT]"
	usageCancel  = "CANCEL TTL JOB FOR table"
	usagePause   = "PAUSE TTL [FOR table] [UNTIL 'time']"
	usageResume  = "RESUME TTL [FOR table]"
	usageApprove = "APPROVE TTL JOB FOR table [VERSION n] [SEEN n {ROW | ROWS} | UP TO n {ROW | ROWS}] [REASON 'text']"
	usageRestore = "RESTORE TTL PARTITION partition FOR table"
	usageTrust   = "TRUST TTL SERVER ['server']"
)

// Grammar returns the statements that we answer, one for each.
func Grammar() []string {
	return []string{
		usageShow, usageWhole, usagePartitions, usageExplain, usageRun, usageCancel, usagePause, usageResume,
		usageApprove, usageRestore, usageTrust,
	}
}

// WrongCondition is a syntax error in the condition of a SHOW TTL.
func WrongCondition(s *ShowTTL) *Error {
	return wrongNear(s.Filter.Where, 1, s.List.usage())
}

// usage is the grammar of the statement that shows a list.
func (l List) usage() string {
	switch {
	case l == ListPartitions:
		return usagePartitions
	case l.OfTables():
		return usageShow
	}
	return usageWhole
}

// usageError is a syntax error at the current token.
func (r *reader) usageError(usage string) *Error {
	line := 1 + strings.Count(r.text[r.st.start:r.current().start], "\n")
	return wrongNear(r.text[r.current().start:r.st.end], line, usage)
}

func wrongNear(near string, line int, usage string) *Error {
	if len(near) > nearLength {
		near = near[:nearLength]
	}
	return &Error{
		CodeSyntax, stateSyntax,
		fmt.Sprintf("You have an error in your SQL syntax near '%s' at line %d; the right syntax is: %s",
			near, line, usage),
	}
}
