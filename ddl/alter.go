package ddl

// alter reads what follows ALTER.
func (r *reader) alter() {
	for r.take("ONLINE") || r.take("OFFLINE") || r.take("IGNORE") {
	}

	if !r.take("TABLE") {
		return
	}

	a := &AlterTable{IfExists: r.take("IF", "EXISTS")}
	var ok bool
	if a.Table, ok = r.name(); !ok {
		return
	}

	from := r.behind()
	r.waits()
	r.st.Action = a
	l := &optionList{reader: r, alters: true}
	for !l.done() {
		l.spec(a)
		if t := l.current(); l.takeMark(',') {
			l.pieces.comma(t)
		} else if !l.done() {
			l.native() // a stray parenthesis: the server refuses it
		}
	}

	if l.pieces.stray() {
		a.Specs = append(a.Specs, Spec{}) // the server refuses it
	}
	a.Clause = l.finish(from, r.st.end)
}

// atClause reports whether one of our options, or REMOVE TTL, begins here.
func (l *optionList) atClause() bool { return l.atRemoval() || l.atOption() }

func (l *optionList) atRemoval() bool { return l.alters && l.peek(0, "REMOVE", "TTL") }

// spec reads one change, or one list of table options, up to the comma behind it.
func (l *optionList) spec(a *AlterTable) {
	if l.structural() {
		first := l.at
		specs := l.change()
		l.rest()
		a.Specs = append(a.Specs, specs...)
		l.nativeFrom(first)
		return
	}

	native := false
	for !l.done() && !l.is(l.current(), ',') {
		switch {
		case l.atClause():
			l.one()
		case l.peek(0, "PARTITION", "BY"):
			native = true
			l.refuseBehindPartitions()
			for !l.done() {
				l.native()
			}
		default:
			native = true
			l.native()
		}
	}

	if native {
		a.Specs = append(a.Specs, Spec{})
	}
}

// structural reports whether a change begins here that is no list of table options.
func (l *optionList) structural() bool {
	return l.oneOf(l.current(), "ADD", "DROP", "CHANGE", "MODIFY", "ALTER", "RENAME", "ORDER", "CONVERT", "EXCHANGE",
		"ENABLE", "DISABLE", "DISCARD", "IMPORT", "FORCE", "ALGORITHM", "LOCK", "TRUNCATE", "COALESCE", "REORGANIZE",
		"ANALYZE", "CHECK", "OPTIMIZE", "REBUILD", "REPAIR", "WITHOUT") ||
		l.peek(0, "REMOVE", "PARTITIONING")
}

// rest moves to the comma behind a change. Lists that hold commas of their own are read to their
// end.
func (l *optionList) rest() {
	for !l.done() && !l.is(l.current(), ',') {
		if l.peek(0, "PARTITION", "BY") {
			l.refuseBehindPartitions()
			for !l.done() {
				l.skip()
			}
			return
		}
		l.skip()
	}
}

// change reads the head of a change.
func (l *optionList) change() []Spec {
	switch {
	case l.take("ADD"):
		return l.addition()
	case l.take("DROP"):
		return one(l.removal())
	case l.take("CHANGE"):
		return one(l.columnChange(true))
	case l.take("MODIFY"):
		return one(l.columnChange(false))
	case l.take("RENAME"):
		return one(l.renaming())
	case l.take("ORDER", "BY"):
		l.ordering()
		return one(Spec{})
	case l.take("EXCHANGE", "PARTITION"):
		return one(l.exchange(ExchangePartition))
	case l.take("CONVERT", "PARTITION"):
		return one(l.exchange(ConvertPartition))
	case l.peek(0, "CONVERT", "TABLE"):
		return one(l.exchange(ConvertTable))
	case l.take("ENABLE", "KEYS"), l.take("DISABLE", "KEYS"), l.take("LOCK"):
		return one(Spec{Change: HarmlessChange})
	case l.take("ALGORITHM"):
		return one(Spec{Change: l.algorithm()})
	}

	spec := Spec{Change: l.partitionChange()}
	for l.oneOf(l.current(), "TRUNCATE", "COALESCE", "REORGANIZE", "ANALYZE", "CHECK", "OPTIMIZE", "REBUILD", "REPAIR",
		"DISCARD", "IMPORT", "PARTITION") {
		l.at++
		l.partitionNames()
	}

	return one(spec)
}

// algorithm reads what follows ALGORITHM. COPY, however it is written, writes the table anew, even if nothing else
// is said.
func (l *optionList) algorithm() Change {
	l.takeMark('=')
	if l.oneOf(l.current(), "INPLACE", "INSTANT", "NOCOPY", "DEFAULT") {
		return HarmlessChange
	}
	return OtherChange
}

func one(s Spec) []Spec { return []Spec{s} }

// partitionChange names the change that begins here, if it concerns partitions or the file of a
// table.
func (l *optionList) partitionChange() Change {
	switch {
	case l.oneOf(l.current(), "IMPORT"):
		return ImportTablespace
	case l.oneOf(l.current(), "DISCARD"):
		return DiscardTablespace
	case l.peek(0, "TRUNCATE", "PARTITION"):
		return TruncatePartition
	case l.peek(0, "OPTIMIZE", "PARTITION"), l.peek(0, "REPAIR", "PARTITION"):
		return MaintainPartition
	case l.peek(0, "CHECK", "PARTITION"), l.peek(0, "ANALYZE", "PARTITION"):
		return HarmlessChange
	}
	return OtherChange
}

// addition reads what follows ADD.
func (l *optionList) addition() []Spec {
	if l.take("CONSTRAINT") && !l.oneOf(l.current(), "PRIMARY", "UNIQUE", "FOREIGN", "CHECK") {
		l.ident()
	}

	switch {
	case l.take("PRIMARY", "KEY"):
		l.toColumnList()
		return one(Spec{Change: AddPrimaryKey, Keys: l.columnList()})
	case l.peek(0, "FOREIGN"):
		if parent, ok := l.parent(); ok {
			return one(Spec{Change: AddForeignKey, References: &parent})
		}
		return one(Spec{})
	case l.oneOf(l.current(), "UNIQUE", "KEY", "INDEX", "FULLTEXT", "SPATIAL", "VECTOR", "CHECK", "PARTITION"),
		l.peek(0, "SYSTEM", "VERSIONING"), l.peek(0, "PERIOD", "FOR"):
		return one(Spec{})
	}

	l.take("COLUMN")
	l.take("IF", "NOT", "EXISTS")
	if !l.is(l.current(), '(') {
		return one(l.newColumn())
	}

	var specs []Spec
	for l.takeMark('('); !l.done(); {
		specs = append(specs, l.newColumn())
		if !l.takeMark(',') {
			l.takeMark(')')
			break
		}
	}

	return specs
}

// newColumn reads the definition of an added column.
func (l *optionList) newColumn() Spec {
	d, ok := l.definition()
	if !ok {
		return Spec{}
	}
	s := Spec{Change: AddColumn, NewColumn: d.column, References: d.parent}
	if d.primary {
		s.Keys = []string{d.column.Name}
	}
	return s
}

// removal reads what follows DROP.
func (l *optionList) removal() Spec {
	column := l.take("COLUMN")
	if !column && l.oneOf(l.current(), "INDEX", "KEY", "PRIMARY", "FOREIGN", "CONSTRAINT", "CHECK", "PARTITION") ||
		l.peek(0, "SYSTEM", "VERSIONING") || l.peek(0, "PERIOD", "FOR") {
		if l.take("PARTITION") {
			l.partitionNames()
			return Spec{Change: DropPartition}
		}
		return Spec{}
	}

	l.take("IF", "EXISTS")
	if name, ok := l.ident(); ok {
		return Spec{Change: DropColumn, Column: name}
	}

	return Spec{}
}

// partitionNames reads a list of partitions, whose commas separate no changes.
func (l *optionList) partitionNames() {
	l.take("PARTITION")
	l.take("IF", "EXISTS")
	for {
		if _, ok := l.ident(); !ok || !l.named(l.ahead(1)) || l.aheadIsOption(1) || !l.takeMark(',') {
			return
		}
	}
}

// aheadIsOption reports whether, n tokens ahead, one of our options begins with its equals sign.
func (r *reader) aheadIsOption(n int) bool {
	t := r.ahead(n)
	return t.kind == word && r.ours(t) &&
		(r.is(r.ahead(n+1), '=') || r.named(r.ahead(n+1)) || r.ahead(n+1).kind == text)
}

// columnChange reads what follows CHANGE, with an old name, or MODIFY.
func (l *optionList) columnChange(renames bool) Spec {
	l.take("COLUMN")
	l.take("IF", "EXISTS")
	s := Spec{Change: ChangeColumn}
	if renames {
		s.Column, _ = l.ident()
	}

	d, ok := l.definition()
	if !ok {
		return Spec{}
	}

	s.NewColumn, s.References = d.column, d.parent
	if d.primary {
		s.Keys = []string{d.column.Name}
	}
	if !renames {
		s.Column = d.column.Name
	}

	return s
}

// renaming reads what follows RENAME.
func (l *optionList) renaming() Spec {
	if l.take("COLUMN") {
		l.take("IF", "EXISTS")
		from, _ := l.ident()
		l.take("TO")

		to, ok := l.ident()
		if !ok {
			return Spec{}
		}

		return Spec{Change: RenameColumn, Column: from, NewColumn: Column{Name: to}}
	}

	if l.oneOf(l.current(), "INDEX", "KEY") {
		return Spec{}
	}
	if !l.take("TO") && !l.take("AS") {
		l.takeMark('=')
	}

	name, ok := l.name()
	if !ok {
		return Spec{}
	}

	return Spec{Change: RenameTable, Other: &name}
}

// ordering reads the columns of ORDER BY. A column may be named ttl, so only what is written like
// an option ends the list.
func (l *optionList) ordering() {
	for !l.done() {
		for !l.done() && !l.is(l.current(), ',') {
			l.skip()
		}
		if !l.is(l.current(), ',') || l.aheadIsOption(1) || !l.named(l.ahead(1)) {
			break
		}
		if next := l.ahead(2); !l.is(next, ',') && !l.oneOf(next, "ASC", "DESC") && l.at+2 < len(l.tokens) {
			break
		}
		l.at++
	}
}

// exchange reads the table that takes part in EXCHANGE PARTITION … WITH TABLE t, or in MariaDB's
// CONVERT PARTITION … TO TABLE t and CONVERT TABLE t TO PARTITION.
func (l *optionList) exchange(change Change) Spec {
	for !l.ended() {
		if l.take("TABLE") {
			if name, ok := l.name(); ok {
				return Spec{Change: change, Other: &name}
			}
			break
		}
		l.skip()
	}
	return Spec{Change: change}
}
