package ddl

import (
	"cmp"
	"slices"
)

// optionList collects the options of a CREATE TABLE, or the specs of an ALTER TABLE, as they are
// read.
type optionList struct {
	*reader
	alters bool // it is an ALTER TABLE
	given  []given
	pieces pieces
}

// given is one option of ours, and where it stands.
type given struct {
	token  // its bytes, and the comment around them; kind is not used
	clause Clause
}

// one reads one option of ours.
func (l *optionList) one() {
	g := given{token: l.current()}
	if l.atRemoval() {
		g.clause.Remove = true
		l.at += 2
	} else if !l.option(&g.clause) {
		l.at = len(l.tokens) // the statement is refused; nothing more to find
		return
	}
	g.end = l.tokens[l.at-1].end
	l.given = append(l.given, g)
	l.pieces.add(g.token, true)
}

// native steps over one token, or a pair of parentheses, of the server's.
func (l *optionList) native() {
	first := l.at
	l.skip()
	l.nativeFrom(first)
}

// nativeFrom makes what was read from a token on a piece of the server's, or the end of one.
func (l *optionList) nativeFrom(first int) {
	if l.at == first {
		return
	}
	end := l.tokens[l.at-1].end
	if n := len(l.pieces); n > 0 && !l.pieces[n-1].comma && !l.pieces[n-1].ours {
		l.pieces[n-1].end = end
		return
	}
	l.pieces.add(token{start: l.tokens[first].start, end: end}, false)
}

// finish takes what comments hold from one place up to another, checks the clause as a whole, records the cuts and
// returns the clause, or nil when there was none.
func (l *optionList) finish(from, until int) *Clause {
	hidden := len(l.given) == 0
	cuts := append(l.pieces.cuts(), l.takeHidden(from, until)...)
	if len(l.given) == 0 {
		return nil
	}

	clause, removes := &Clause{Commented: hidden}, 0
	slices.SortFunc(l.given, func(a, b given) int { return cmp.Compare(a.start, b.start) })
	for _, g := range l.given {
		l.refuseParts(g)
		l.refuseRest(g)
		clause.add(g.clause)
		if g.clause.Remove {
			removes++
		}
	}

	if removes > 1 || removes == 1 && len(l.given) > 1 {
		l.reject(UnsupportedDDL("multi schema change for alter table no_ttl"))
	}
	l.st.cuts = l.wholeComments(l.all, cuts)
	l.refuseDashes()
	return clause
}

// refuseDashes refuses two minus signs in front of what is cut: they begin no comment before an option, and would begin
// one before what is left.
func (l *optionList) refuseDashes() {
	for _, c := range l.st.cuts {
		if dashes := c.start - len("--"); dashes >= l.st.start && l.text[dashes:c.start] == "--" {
			l.refuse(dashes, "-- begins a comment only before a blank")
		}
	}
}

// tableOptions reads the options of a CREATE TABLE, and moves behind its partitions to its query.
func (r *reader) tableOptions() *Clause {
	l := &optionList{reader: r}
	from := r.behind()
	for !l.done() && !l.peek(0, "PARTITION", "BY") && !l.query(0) {
		switch t := l.current(); {
		case l.atOption():
			l.one()
		case l.takeMark(','):
			l.pieces.comma(t)
		default:
			l.native()
		}
	}

	l.refuseBehindPartitions()
	l.queryFollows()
	return l.finish(from, l.current().start)
}

// behind is the place behind what was read.
func (r *reader) behind() int {
	if r.at == 0 {
		return r.st.start
	}
	return r.tokens[r.at-1].end
}

// refuseBehindPartitions refuses an option, outside comments, from here on, where partitions are
// described: the server's own error would not say where it belongs.
func (l *optionList) refuseBehindPartitions() {
	for r := *l.reader; !r.done() && !r.query(0); r.skip() {
		if r.peek(0, "REMOVE", "TTL") || r.aheadIsOption(0) {
			r.refuse(r.current().start, "what is said about TTL belongs before PARTITION BY")
			return
		}
	}
}
