package ddl

// show reads what follows SHOW.
func (r *reader) show() {
	if r.showVariables() || r.showWarnings() {
		return
	}
	if r.take("TTL") {
		r.showTTL()
		return
	}
	if r.take("CREATE", "TABLE") {
		if name, ok := r.name(); ok && r.done() {
			r.st.Action = &ShowCreateTable{Table: name}
		}
	}
}

// explain reads what follows EXPLAIN, DESCRIBE and DESC.
func (r *reader) explain() {
	if !r.explainTTL() {
		r.references()
	}
}
