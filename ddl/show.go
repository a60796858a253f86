package ddl

// show reads what follows SHOW.
func (r *reader) show() {
	if r.showVariables() || r.showWarnings() || r.showColumnsTiDB() {
		return
	}
	if r.take("TTL") {
		r.showTTL()
		return
	}

	if r.take("CREATE", "TABLE") {
		at := r.at
		if name, ok := r.tidbTable(); ok && r.describe(at, &DescribeTiDB{Table: name, Form: FormCreate}) {
			return
		}
		if name, ok := r.name(); ok && r.done() {
			r.st.Action = &ShowCreateTable{Table: name}
		}
	}
}

// explain reads what follows EXPLAIN, DESCRIBE and DESC.
func (r *reader) explain() {
	if !r.explainTTL() && !r.describeTiDB() {
		r.references()
	}
}
