package ddl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// SessionDependence says why the date in a column may be different in somebody else's session; ""
// if it cannot be. A VIRTUAL column is computed by whoever reads it, in the reader's time zone and
// sql_mode. What is accepted is a closed list: dates made of DATETIME and DATE columns, literals,
// intervals of whole numbers, and choices between them. find looks up a column.
//
// The rest is refused whether it depends on the session or not: text may carry an offset, a number
// is a date only under some sql_mode, and what FROM_UNIXTIME, NOW, CONVERT_TZ and a TIMESTAMP yield
// depends on the zone.
func SessionDependence(c Column, find func(name string) (Column, bool)) string {
	if !c.Virtual {
		return ""
	}
	e := &expression{source: &source{}, find: find}
	e.column(c)
	return e.why
}

// value is what a part of an expression yields.
type value int

const (
	anyValue value = iota // NULL
	dateValue
	numberValue
)

// expression reads a generation expression. The first thing that is not on the list is kept as the
// reason, and ends the reading.
type expression struct {
	*source
	find  func(name string) (Column, bool)
	at    int
	depth int
	inner []string // virtual columns that are being looked into
	why   string
}

// kindOf is what a column holds; anyValue for nothing that a date could be made of.
func (c Column) kindOf() value {
	switch c.Type {
	case "DATE", "DATETIME":
		return dateValue
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "INTEGER", "BIGINT", "BOOL", "BOOLEAN", "DECIMAL", "NUMERIC", "DEC",
		"FIXED":
		return numberValue
	}
	return anyValue
}

// column judges a column that the expression reads, and in turn what that one is made of.
func (e *expression) column(c Column) value {
	kind := c.kindOf()
	switch {
	case c.Type == "TIMESTAMP":
		return e.refuse("the TIMESTAMP column " + Quote(c.Name) + ", which every session reads in its own zone")
	case kind == anyValue:
		return e.refuse("column " + Quote(c.Name) + " of type " + c.Type)
	case !c.Virtual:
		return kind
	case slices.Contains(e.inner, c.Name):
		return e.refuse("column " + Quote(c.Name) + " itself")
	}

	of := &expression{source: lex(c.Expression, Mode{}), find: e.find, inner: append(slices.Clone(e.inner), c.Name)}
	got := of.whole()
	if of.why == "" && got != kind && got != anyValue {
		of.refuse("a number, which is a date only in some sql_mode")
	}
	if e.why == "" {
		e.why = of.why
	}

	return kind
}

// whole reads an expression to its end.
func (e *expression) whole() value {
	if len(e.tokens) == 0 || len(e.comments) > 0 {
		return e.refuse("an expression that the server does not show")
	}
	got := e.choice()
	if e.why == "" && e.at < len(e.tokens) {
		e.refuse(e.spelled())
	}
	return got
}

func (e *expression) refuse(what string) value {
	if e.why == "" {
		e.why = what
	}
	e.at = len(e.tokens)
	return anyValue
}

// spelled is the current token, with its parenthesis if it is a function.
func (e *expression) spelled() string {
	if e.at >= len(e.tokens) {
		return "an expression that ends too soon"
	}
	t := e.tokens[e.at]
	if t.kind == word && e.at+1 < len(e.tokens) && e.is(e.tokens[e.at+1], '(') {
		return strings.ToUpper(e.spelling(t)) + "()"
	}
	return e.spelling(t)
}

func (e *expression) word(names ...string) bool {
	if e.at+len(names) > len(e.tokens) {
		return false
	}
	for i, name := range names {
		if !e.keyword(e.tokens[e.at+i], name) {
			return false
		}
	}
	e.at += len(names)
	return true
}

// call reads the name of a function and its parenthesis.
func (e *expression) call(names ...string) bool {
	for _, name := range names {
		if e.at+1 < len(e.tokens) && e.keyword(e.tokens[e.at], name) && e.is(e.tokens[e.at+1], '(') {
			e.at += 2
			return true
		}
	}
	return false
}

func (e *expression) mark(marks string) bool {
	for i := range len(marks) {
		if e.at+i >= len(e.tokens) || !e.is(e.tokens[e.at+i], marks[i]) {
			return false
		}
	}
	e.at += len(marks)
	return true
}

// need reads punctuation that has to be there.
func (e *expression) need(mark string) {
	if e.why == "" && !e.mark(mark) {
		e.refuse(e.spelled())
	}
}

// choice reads conditions joined by AND and OR, or a value.
func (e *expression) choice() value {
	got := e.condition()
	for e.word("AND") || e.word("OR") {
		e.condition()
		got = numberValue
	}
	return got
}

// condition reads a comparison, or a value.
func (e *expression) condition() value {
	left := e.sum()
	switch {
	case e.word("IS", "NOT", "NULL"), e.word("IS", "NULL"):
		return numberValue
	case e.word("BETWEEN"), e.word("NOT", "BETWEEN"):
		e.alike(left, e.sum())
		if !e.word("AND") {
			return e.refuse(e.spelled())
		}
		e.alike(left, e.sum())
		return numberValue
	case e.mark("<="), e.mark(">="), e.mark("<>"), e.mark("!="), e.mark("="), e.mark("<"), e.mark(">"):
		e.alike(left, e.sum())
		return numberValue
	}

	return left
}

// alike returns the kind of two values that must be of the same kind.
func (e *expression) alike(a, b value) value {
	switch {
	case e.why != "" || a == b:
		return a
	case a == anyValue:
		return b
	case b == anyValue:
		return a
	}
	return e.refuse("a date where a number is, or a number where a date is")
}

// sum reads what + and - join: numbers, or a date and intervals.
func (e *expression) sum() value {
	if e.word("INTERVAL") {
		e.interval()
		e.need("+")
		return e.alike(dateValue, e.product())
	}

	got := e.product()
	for e.mark("+") || e.mark("-") {
		if e.word("INTERVAL") {
			e.interval()
			got = e.alike(dateValue, got)
		} else {
			got = e.alike(e.alike(numberValue, got), e.product())
		}
	}

	return got
}

// product reads numbers joined by * and whole division. The digits that / gives depend on
// div_precision_increment.
func (e *expression) product() value {
	got := e.primary()
	for e.mark("*") || e.mark("%") || e.word("DIV") || e.word("MOD") {
		got = e.alike(e.alike(numberValue, got), e.primary())
	}
	return got
}

// units of an interval.
var units = regexp.MustCompile(`(?i)^(MICROSECOND|SECOND|MINUTE|HOUR|DAY|WEEK|MONTH|QUARTER|YEAR)` +
	`(_(MICROSECOND|SECOND|MINUTE|HOUR|MONTH))?$`)

// interval reads the number and the unit behind INTERVAL.
func (e *expression) interval() {
	if literal, ok := e.literal(); ok {
		if strings.Trim(literal, "0123456789 :.-") != "" {
			e.refuse("'" + literal + "'")
		}
	} else {
		e.alike(numberValue, e.sum())
	}

	if e.why != "" {
		return
	}
	if e.at >= len(e.tokens) || !units.MatchString(e.spelling(e.tokens[e.at])) {
		e.refuse(e.spelled())
		return
	}

	e.at++
}

// literal reads a string, with or without an introducer of its character set.
func (e *expression) literal() (string, bool) {
	at := e.at
	if at < len(e.tokens) && e.tokens[at].kind == word && e.spelling(e.tokens[at])[0] == '_' {
		at++
	}
	if at >= len(e.tokens) || e.tokens[at].kind != text {
		return "", false
	}
	e.at = at + 1
	return strings.Trim(e.spelling(e.tokens[at]), "'"), true
}

// plainDate reports whether a text is a date under every sql_mode, without an offset.
func plainDate(text string) bool {
	for _, layout := range []string{time.DateOnly, time.DateTime, "2006-01-02T15:04:05"} {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}

// deepest is how far an expression may be nested.
const deepest = 100

func (e *expression) primary() value {
	e.depth++
	defer func() { e.depth-- }()

	if e.at >= len(e.tokens) || e.depth > deepest {
		return e.refuse(e.spelled())
	}
	if got, ok := e.function(); ok {
		return got
	}

	if e.word("DATE") || e.word("TIMESTAMP") {
		if e.at >= len(e.tokens) || e.tokens[e.at].kind != text {
			return e.refuse(e.spelled())
		}
	}

	if literal, ok := e.literal(); ok {
		if !plainDate(literal) {
			return e.refuse("the text '" + literal + "'")
		}
		return dateValue
	}

	switch t := e.tokens[e.at]; {
	case e.mark("("):
		got := e.choice()
		e.need(")")
		return got
	case e.mark("-"):
		return e.alike(numberValue, e.primary())
	case e.word("NULL"):
		return anyValue
	case t.kind == number:
		e.at++
		return numberValue
	case e.named(t) && !e.followed('(') && !e.followed('.'):
		return e.reference(t)
	}

	return e.refuse(e.spelled())
}

// followed reports whether the next token is that mark.
func (e *expression) followed(mark byte) bool {
	return e.at+1 < len(e.tokens) && e.is(e.tokens[e.at+1], mark)
}

// reference reads a column's name.
func (e *expression) reference(t token) value {
	name := e.spelling(t)
	if t.kind == quoted {
		name = Unquote(name)
	}
	c, found := e.find(name)
	if !found {
		return e.refuse(e.spelled())
	}
	e.at++
	return e.column(c)
}

// function reads one of those that yield the same for everybody.
func (e *expression) function() (value, bool) {
	switch {
	case e.word("CASE"):
		return e.cases(), true
	case e.call("IF"):
		e.choice()
		e.need(",")
		return e.arguments(), true
	case e.call("COALESCE"), e.call("IFNULL"), e.call("NULLIF"), e.call("GREATEST"), e.call("LEAST"):
		return e.arguments(), true
	case e.call("DATE"), e.call("LAST_DAY"):
		return e.alike(dateValue, e.arguments()), true
	case e.call("DATE_ADD"), e.call("DATE_SUB"), e.call("ADDDATE"), e.call("SUBDATE"):
		return e.moved(), true
	case e.call("TIMESTAMPADD"):
		e.at++ // the unit
		e.need(",")
		e.alike(numberValue, e.sum())
		e.need(",")
		return e.alike(dateValue, e.arguments()), true
	case e.call("CAST"):
		return e.cast(), true
	}
	return anyValue, false
}

// arguments reads values of one kind up to the closing parenthesis.
func (e *expression) arguments() value {
	got := e.choice()
	for e.mark(",") {
		got = e.alike(got, e.choice())
	}
	e.need(")")
	return got
}

// moved reads a date and how far it is moved.
func (e *expression) moved() value {
	got := e.alike(dateValue, e.choice())
	e.need(",")
	if e.word("INTERVAL") {
		e.interval()
	} else {
		e.alike(numberValue, e.sum())
	}
	e.need(")")
	return got
}

// cast reads CAST(date AS DATE) and AS DATETIME. Fractions are rounded as sql_mode says: the
// engine's rounds up, which is never early.
func (e *expression) cast() value {
	got := e.alike(dateValue, e.choice())
	if !e.word("AS") || !e.word("DATE") && !e.word("DATETIME") {
		return e.refuse(e.spelled())
	}
	if e.mark("(") {
		e.at++
		e.need(")")
	}
	e.need(")")
	return got
}

// cases reads CASE WHEN … THEN … ELSE … END.
func (e *expression) cases() value {
	got := anyValue
	for e.word("WHEN") {
		e.choice()
		if !e.word("THEN") {
			return e.refuse(e.spelled())
		}
		got = e.alike(got, e.choice())
	}

	if e.word("ELSE") {
		got = e.alike(got, e.choice())
	}
	if !e.word("END") {
		return e.refuse(e.spelled())
	}

	return got
}

// ReaderDependent is raised when the engine may read another date in the TTL column than people do.
func ReaderDependent(column, why string) *Error {
	return &Error{CodeUnsupportedColumn, stateGeneral, fmt.Sprintf(
		"TTL column '%s' is VIRTUAL and made of %s: the engine, which reads in UTC, could see another date than you. "+
			"Make it STORED, let the application or a DEFAULT fill a DATETIME column, or declare the TTL on the "+
			"TIMESTAMP column itself",
		column, why)}
}
