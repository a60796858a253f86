package ddl

// explainTTL reads what follows EXPLAIN, if that is TTL with something after it: EXPLAIN TTL alone
// describes a table of that name.
func (r *reader) explainTTL() bool {
	at := r.at
	a := &ExplainTTL{}
	ok := r.format(a)
	a.Word = r.spelling(r.current())

	if !r.take("TTL") || r.done() {
		r.at = at
		return false
	}
	if !ok {
		r.reject(r.usageError(usageExplain))
		return true
	}

	if !r.take("ALTER") {
		a.Table, ok = r.name()
		r.close(a, ok, usageExplain)
		return true
	}

	r.alter()
	a.Alter, ok = r.st.Action.(*AlterTable)
	if !ok {
		r.reject(r.usageError(usageExplain))
		return true
	}

	a.Table = a.Alter.Table
	r.st.Action = a
	return true
}

// format reads FORMAT = name, if it is there.
func (r *reader) format(a *ExplainTTL) bool {
	if !r.take("FORMAT") {
		return true
	}
	if !r.takeMark('=') {
		return false
	}
	a.JSON = r.peek(0, "JSON")
	known := a.JSON || r.peek(0, "TRADITIONAL")
	r.skip()
	return known
}
