package ddl

// drop reads what follows DROP.
func (r *reader) drop() {
	temporary := r.take("TEMPORARY")
	switch {
	case r.take("TABLE"), r.take("TABLES"):
		exists := r.take("IF", "EXISTS")
		if names := r.names(); names != nil {
			r.st.Action = &DropTables{Tables: names, Temporary: temporary, IfExists: exists}
		}
	case r.take("DATABASE"), r.take("SCHEMA"):
		exists := r.take("IF", "EXISTS")
		if schema, ok := r.ident(); ok {
			r.st.Action = &DropDatabase{Schema: schema, IfExists: exists}
		}
	default:
		for r.take("ONLINE") || r.take("OFFLINE") {
		}
		if r.take("INDEX") && r.skipTo("ON") {
			r.changeOne("DROP INDEX")
		}
	}
}

// rename reads the pairs of RENAME TABLE.
func (r *reader) rename() {
	r.take("IF", "EXISTS")
	a := &RenameTables{}
	for {
		from, ok1 := r.name()
		r.waits()
		if !ok1 || !r.take("TO") {
			return
		}

		to, ok2 := r.name()
		if !ok2 {
			return
		}

		a.Pairs = append(a.Pairs, Rename{from, to})
		if !r.takeMark(',') {
			r.st.Action = a
			return
		}
	}
}

// truncate reads what follows TRUNCATE.
func (r *reader) truncate() {
	r.take("TABLE")
	if name, ok := r.name(); ok {
		r.st.Action = &TruncateTable{Table: name}
	}
}

// maintain reads the tables of OPTIMIZE and REPAIR.
func (r *reader) maintain(verb string) {
	if !r.take("NO_WRITE_TO_BINLOG") {
		r.take("LOCAL")
	}
	if !r.take("TABLE") && !r.take("TABLES") {
		return
	}
	if names := r.names(); names != nil {
		r.st.Action = &ChangeTables{Verb: verb, Tables: names}
	}
}

// changeOne reads the one table that a statement changes.
func (r *reader) changeOne(verb string) {
	if name, ok := r.name(); ok {
		r.st.Action = &ChangeTables{Verb: verb, Tables: []Name{name}}
	}
}
