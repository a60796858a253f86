package ddl

import (
	"cmp"
	"maps"
	"strings"
)

// Clause holds the TTL options of one statement. An option given twice has its last value.
type Clause struct {
	TTL         *Rule   // TTL = column + INTERVAL n unit
	Enable      *bool   // TTL_ENABLE
	JobInterval *string // TTL_JOB_INTERVAL, verbatim
	// Options are the options that TiDB does not have, such as TTL_TIME_ZONE, by their name in
	// upper case. An empty value unsets the option.
	Options map[string]string
	Remove  bool // REMOVE TTL
	// Commented says that all of it was in comments that the server skips, as in a dump.
	Commented bool
}

// Rule says from which column a row's age is counted, and when it expires.
type Rule struct {
	Column   string // as spelled in the statement, in UTF-8
	Interval Interval
}

// FirstOption names the option that cannot stand on a table without TTL, in TiDB's order, or is
// empty.
func (c *Clause) FirstOption() string {
	switch {
	case c.Enable != nil:
		return OptionEnable
	case c.JobInterval != nil:
		return OptionJobInterval
	case len(c.Options) > 0:
		return c.optionNames()[0]
	}
	return ""
}

// add takes over what another clause sets.
func (c *Clause) add(o Clause) {
	c.TTL = cmp.Or(o.TTL, c.TTL)
	c.Enable = cmp.Or(o.Enable, c.Enable)
	c.JobInterval = cmp.Or(o.JobInterval, c.JobInterval)
	c.Remove = c.Remove || o.Remove
	if c.Options == nil {
		c.Options = o.Options
		return
	}
	maps.Copy(c.Options, o.Options)
}

// Comments prints the policy as SHOW CREATE TABLE does: TiDB's three options, each in a comment
// that TiDB runs and others skip, and ours in one that TiDB skips too.
func (c *Clause) Comments() string {
	var b strings.Builder
	if c.TTL == nil {
		return ""
	}

	b.WriteString(" /*T![ttl] TTL=" + Quote(c.TTL.Column) + " + " + c.TTL.Interval.String() + " */")
	if c.Enable != nil {
		b.WriteString(" /*T![ttl] TTL_ENABLE='" + onOff(*c.Enable) + "' */")
	}
	if c.JobInterval != nil {
		b.WriteString(" /*T![ttl] TTL_JOB_INTERVAL=" + quoteString(*c.JobInterval) + " */")
	}

	var ours []string
	for _, e := range extensions() {
		if value := c.Options[e.name]; value != "" {
			ours = append(ours, e.name+"="+quoteString(value))
		}
	}

	if ours != nil {
		b.WriteString(" /*T![ttl,ttlproxy] " + strings.Join(ours, " ") + " */")
	}

	return b.String()
}

func onOff(on bool) string {
	if on {
		return "ON"
	}
	return "OFF"
}

// atOption reports whether one of our options begins here. A word is ours only where an option may
// begin, never where it is the value of another one.
func (r *reader) atOption() bool {
	t := r.current()
	if t.kind != word || !r.ours(t) {
		return false
	}
	if r.at == 0 {
		return true
	}

	previous := r.tokens[r.at-1]
	value := r.at >= 2 && r.is(r.tokens[r.at-2], '=') // such as ENGINE=engine
	return !r.is(previous, '=') && !r.is(previous, '.') && (value || !r.oneOf(previous,
		"ENGINE", "TYPE", "CHARSET", "SET", "COLLATE", "ROW_FORMAT", "INSERT_METHOD", "TABLESPACE", "STORAGE"))
}

// ours reports whether the word names one of our options: TTL, or anything that begins with TTL_.
func (r *reader) ours(t token) bool {
	name := r.spelling(t)
	return len(name) > 4 && strings.EqualFold(name[:4], "TTL_") || strings.EqualFold(name, "TTL")
}

// option reads one option into the clause and reports whether it was well formed.
func (r *reader) option(c *Clause) bool {
	first := r.at
	name := strings.ToUpper(r.spelling(r.current()))
	r.at++
	r.takeMark('=')
	e, known := findExtension(name)
	var ok bool

	switch {
	case name == OptionTTL:
		known, ok = true, r.rule(c)
	case name == OptionEnable:
		known, ok = true, r.enable(c)
	case name == OptionJobInterval:
		known, ok = true, r.jobInterval(c, first)
	case known:
		ok = r.extension(c, e, first)
	}

	at := r.tokens[first].start
	switch {
	case !known:
		r.refuse(at, "the TTL options are "+knownOptions())
	case !ok:
		r.refuse(at, grammarOf(name))
	default:
		return true
	}

	return false
}

// grammarOf shows how an option is written.
func grammarOf(option string) string {
	switch option {
	case OptionTTL:
		return "the form is TTL = column + INTERVAL number unit"
	case OptionEnable:
		return "the TTL_ENABLE option has to be set 'ON' or 'OFF'"
	case OptionJobInterval:
		return "the TTL_JOB_INTERVAL option takes a string such as '1h', '1d12h' or '30s'"
	}
	e, _ := findExtension(option)
	return "the form is " + option + " = " + e.form
}

// rule reads column + INTERVAL literal unit, and lets TiDB's parser judge it.
func (r *reader) rule(c *Clause) bool {
	from := r.at
	column, ok := r.ident()
	if !ok || !r.takeMark('+') || !r.take("INTERVAL") {
		return false
	}

	literal, ok := r.literal()
	if !ok || r.current().kind != word {
		return false
	}

	unit, ok := ParseUnit(r.spelling(r.current()))
	if !ok {
		return false
	}

	r.at++
	if !judge("TTL = "+r.join(from, r.at), r.mode) {
		return false
	}

	interval := Interval{Literal: literal, Unit: unit}
	if _, err := interval.span(); err != nil {
		r.reject(WrongInterval(interval, err.Error()))
	}

	c.TTL = &Rule{Column: column, Interval: interval}
	return true
}

// literal reads the amount of an interval: a number, a string, TRUE or FALSE, but no expression.
func (r *reader) literal() (string, bool) {
	t := r.current()
	if t.kind == number || r.oneOf(t, "TRUE", "FALSE", "NULL") {
		r.at++
		return strings.ToUpper(r.spelling(t)), true
	}
	value, ok := r.stringValue()
	return quoteString(value), ok
}

// join prints tokens with blanks between them, in UTF-8.
func (r *reader) join(from, to int) string {
	var b strings.Builder
	for _, t := range r.tokens[from:to] {
		b.WriteString(r.decode(r.spelling(t)))
		b.WriteByte(' ')
	}
	return b.String()
}

func (r *reader) enable(c *Clause) bool {
	from := r.at
	value, ok := r.stringValue()
	if !ok || !judge("TTL_ENABLE = "+r.join(from, r.at), r.mode) {
		return false
	}
	on := strings.EqualFold(value, "ON")
	c.Enable = &on
	return true
}

// jobInterval reads a duration with our own reader, since TiDB's knows no seconds.
func (r *reader) jobInterval(c *Clause, first int) bool {
	value, ok := r.stringValue()
	if !ok {
		return false
	}
	if _, err := Duration(value); err != nil {
		r.refuse(r.tokens[first].start, "TTL_JOB_INTERVAL is "+err.Error())
	}
	c.JobInterval = &value
	return true
}
