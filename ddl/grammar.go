package ddl

import (
	"fmt"
	"strings"
)

// The grammar of the statements that we answer, as errors and the documentation show it.
const (
	usageShow = "SHOW TTL {TABLES | JOBS | TASKS | HISTORY | ERRORS | NODES | STATUS | VARIABLES | EVENTS | " +
		"SESSIONS | THROTTLE} [FOR table] [FROM schema] [LIKE 'pattern' | WHERE condition] [LIMIT n]"
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
		usageShow, usagePartitions, usageExplain, usageRun, usageCancel, usagePause, usageResume, usageApprove,
		usageRestore, usageTrust,
	}
}

// WrongCondition is a syntax error in the condition of a SHOW TTL.
func WrongCondition(s *ShowTTL) *Error {
	usage := usageShow
	if s.List == ListPartitions {
		usage = usagePartitions
	}
	return wrongNear(s.Filter.Where, 1, usage)
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
