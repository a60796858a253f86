package work

import (
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// discreetError is an error as everybody may read it: in the log, as the reason of a job, in an event.
type discreetError struct {
	error

	text string
}

func (e *discreetError) Error() string { return e.text }
func (e *discreetError) Unwrap() error { return e.error }

// discreet leaves out of an error what the server may have quoted from rows: a unique key's value, or whatever a
// trigger puts into its message. Whoever may read the row finds that in SHOW TTL ERRORS, if the row is known.
func discreet(err error) error {
	my, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok || !quotesRows(my) {
		return err
	}
	return &discreetError{err, strings.ReplaceAll(err.Error(), my.Message, withoutRows(my))}
}

// quotesRows reports whether a message may quote what is in rows. Those about plans, rights and the server's state
// quote names, which people need.
func quotesRows(my *mysql.MySQLError) bool {
	switch classify(my) {
	case poison, never, notExecuted:
		return true
	case locked, maybeExecuted, replan, pause:
	}
	return false
}

// withoutRows is a message without everything from its first quotation mark to its last: what is quoted may have some
// of its own. Nothing is left of one that a trigger has worded.
func withoutRows(my *mysql.MySQLError) string {
	from, to := strings.IndexAny(my.Message, `'"`), strings.LastIndexAny(my.Message, `'"`)
	switch {
	case worded(my):
		return "…"
	case from < to:
		return my.Message[:from] + "'…'" + my.Message[to+1:]
	default:
		return my.Message
	}
}
