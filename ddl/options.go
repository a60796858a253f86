package ddl

// optionList collects the options of a CREATE TABLE, or the specs of an ALTER TABLE, as they are
// read.
type optionList struct {
	*reader // over the visible tokens and those of comments that hold our options
	clause  Clause
	found   bool
	visible bool // one of our options stood outside hidden comments
	removes int
	pieces  pieces
}

// newOptions begins a list at the reader's place.
func (r *reader) newOptions() *optionList {
	from := r.current().start
	z := &reader{source: r.source, st: r.st, all: r.all}
	ours := 0 // the hidden comment that holds options of ours
	for n, t := range r.all {
		if t.start < from && (!t.hidden || r.at > 0 && t.start < r.tokens[r.at-1].end) {
			continue
		}
		if t.hidden && t.comment != ours && z.opensClause(r.all[n:]) {
			ours = t.comment
		}
		if !t.hidden || t.comment == ours {
			z.tokens = append(z.tokens, t)
		}
	}

	return &optionList{reader: z}
}

// opensClause reports whether a hidden comment begins with one of our options.
func (r *reader) opensClause(tokens []token) bool {
	if r.is(tokens[0], ',') {
		tokens = tokens[1:]
	}
	if len(tokens) == 0 || tokens[0].kind != word {
		return false
	}
	return r.ours(tokens[0]) || len(tokens) > 1 && r.keyword(tokens[0], "REMOVE") && r.keyword(tokens[1], "TTL")
}

// one reads one option of ours.
func (l *optionList) one() {
	first := l.current()
	l.found = true
	l.visible = l.visible || !first.hidden
	if l.take("REMOVE", "TTL") {
		l.removes++
		l.clause.Remove = true
		if l.tokens[l.at-1].comment != first.comment {
			l.reject(syntaxError(l.text, first.start, halfInside))
		}
	} else if !l.option(&l.clause) {
		l.at = len(l.tokens) // the statement is refused; nothing more to find
		return
	}
	l.pieces.add(token{start: first.start, end: l.tokens[l.at-1].end, hidden: first.hidden}, true)
	l.refuseRest(first)
}

// refuseRest refuses what follows an option of ours in a comment that the server skips, unless another option may begin
// with it: outside the comment the server would. INTERVAL 1 MONTH * 2 must not be taken for a month.
func (l *optionList) refuseRest(option token) {
	t := l.current()
	if l.is(t, ',') {
		t = l.ahead(1)
	}
	begins := t.kind == word && !l.oneOf(t, "AND", "OR", "XOR", "DIV", "MOD", "NOT", "IS", "IN", "LIKE", "BETWEEN",
		"INTERVAL", "WHERE", "HAVING", "GROUP", "IF", "TO", "DELETE", "SET")
	if option.hidden && t.comment == option.comment && !begins {
		l.reject(syntaxError(l.text, t.start, "in a comment nothing but another option may follow one"))
	}
}

// native steps over one token, or a pair of parentheses, of the server's.
func (l *optionList) native() {
	first := l.current()
	l.skip()
	last := l.tokens[min(l.at, len(l.tokens))-1]
	if n := len(l.pieces); n > 0 && !l.pieces[n-1].comma && !l.pieces[n-1].ours {
		l.pieces[n-1].end = last.end
		return
	}
	l.pieces.add(token{start: first.start, end: last.end}, false)
}

// finish checks the clause as a whole, records the cuts and returns the clause, or nil when there
// was none.
func (l *optionList) finish() *Clause {
	if !l.found {
		return nil
	}
	options := l.clause.TTL != nil || l.clause.FirstOption() != ""
	if l.removes > 1 || l.removes == 1 && options {
		l.reject(UnsupportedDDL("multi schema change for alter table no_ttl"))
	}
	l.clause.Commented = !l.visible
	l.st.cuts = l.wholeComments(l.all, l.pieces.cuts())
	return &l.clause
}

// tableOptions reads the options of a CREATE TABLE up to its partitions or its query.
func (r *reader) tableOptions() *Clause {
	l := r.newOptions()
	for !l.done() && !l.ends() {
		switch t := l.current(); {
		case l.atOption():
			l.one()
		case l.takeMark(','):
			l.pieces.comma(t)
		default:
			l.native()
		}
	}

	for stop := l.current().start; r.at < len(r.tokens) && r.tokens[r.at].start < stop; {
		r.at++
	}

	l.refuseBehindPartitions()
	for ; !l.done(); l.at++ { // old TiDB printed its comments behind the partitions
		for l.current().hidden && l.atOption() {
			l.one()
		}
	}

	return l.finish()
}

// ends reports whether the options are over: the server has to see that, too.
func (l *optionList) ends() bool {
	return !l.current().hidden && (l.peek(0, "PARTITION", "BY") || l.query(0))
}

// refuseBehindPartitions refuses an option, outside comments, from here on, where partitions are
// described: the server's own error would not say where it belongs.
func (l *optionList) refuseBehindPartitions() {
	for r := *l.reader; !r.done() && (r.current().hidden || !r.query(0)); r.skip() {
		if t := r.current(); !t.hidden && (r.peek(0, "REMOVE", "TTL") || r.aheadIsOption(0)) {
			r.reject(syntaxError(r.text, t.start, "what is said about TTL belongs before PARTITION BY"))
			return
		}
	}
}
