package ddl

import (
	"slices"
	"strings"
)

// Comments that the server skips are read apart from what it sees, so that nothing in them changes what the rest of the
// statement means. They stand for options of ours and otherwise for nothing.

// takeHidden takes the options out of comments from one place up to another, also behind the partitions, where old TiDB
// printed them, and returns what to cut. In parentheses there are columns, expressions and partitions, and no options;
// elsewhere those are refused.
func (l *optionList) takeHidden(from, until int) []cut {
	var cuts []cut
	depth := 0
	for n := 0; n < len(l.all); n++ {
		first := n
		t := l.all[n]
		switch {
		case !t.hidden && l.is(t, '('):
			depth++
		case !t.hidden && l.is(t, ')'):
			depth--
		}
		if !t.hidden {
			continue
		}

		around := l.outermostHidden(t)
		n = max(tokenAt(l.all, around.end)-1, n)
		h := l.over(l.all[first : n+1])
		switch {
		case depth > 0:
		case around.start >= until:
			if h.written() {
				h.refuse(t.start, misplaced)
			}
		case around.start < from:
			h.refuseMisplaced()
		default:
			cuts = append(cuts, h.takeComment(*around)...)
			l.given = append(l.given, h.given...)
		}
	}
	return cuts
}

// over is an empty list over some tokens of the statement.
func (l *optionList) over(tokens []token) *optionList {
	return &optionList{reader: &reader{source: l.source, st: l.st, tokens: tokens, all: l.all}, alters: l.alters}
}

const misplaced = "TTL options belong behind the table's columns or name"

// takeComment takes the options out of one comment, if it begins with an option or a change. One that holds nothing but
// options of ours is cut as a whole.
func (l *optionList) takeComment(around comment) []cut {
	start := l.over(l.tokens)
	if start.takeMark(','); !start.begins(true) {
		l.refuseMisplaced()
		return nil
	}

	foreign, changes := false, false
	for first := true; !l.done(); {
		switch t := l.current(); {
		case l.takeMark(','):
			l.pieces.comma(t)
			first = true
			continue
		case l.written(), !changes && l.atClause():
			l.one()
		case first && l.alters && l.structural():
			foreign, changes = true, true
			l.toNextChange()
		default:
			foreign = true
			l.refuseUnread()
			l.native()
		}
		first = false
	}

	switch {
	case len(l.given) == 0:
		return nil
	case foreign || l.endsAround(around):
		return l.pieces.cuts()
	}
	return []cut{{start: around.start, end: around.end}}
}

// written reports whether one of our options begins here beyond doubt. Names of columns and partitions may look like
// one, too.
func (l *optionList) written() bool {
	next := l.ahead(1)
	return l.atRemoval() ||
		l.atOption() && (l.is(next, '=') || next.kind == text || next.kind == number || l.is(l.ahead(2), '+'))
}

// toNextChange moves to the comma behind a change. The names in it are not ours.
func (l *optionList) toNextChange() {
	first := l.at
	for !l.done() && !l.is(l.current(), ',') {
		l.refuseUnread()
		l.skip()
	}
	l.nativeFrom(first)
}

// refuseUnread refuses what is written like an option of ours where it is not read as one: nobody would notice.
func (l *optionList) refuseUnread() {
	if t := l.current(); t.kind == word && l.ours(t) && l.is(l.ahead(1), '=') {
		l.refuse(t.start, "an option stands by itself")
	}
}

// begins reports whether an option, of ours or of a server's, begins here, or a change, if one may. All words with an
// underscore or an equals sign behind them are names of options.
func (l *optionList) begins(change bool) bool {
	t := l.current()
	if t.kind != word {
		return false
	}
	return l.ours(t) || change && l.alters && l.structural() || l.is(l.ahead(1), '=') || l.peek(0, "SET", "TIFLASH") ||
		strings.Contains(l.spelling(t), "_") || l.oneOf(t, "AFFINITY", "CACHE", "CHAR", "CHARACTER", "CHARSET",
		"CHECKSUM", "COLLATE", "COMMENT", "COMPRESSION", "CONNECTION", "DATA", "DEFAULT", "ENCRYPTION", "ENGINE",
		"FORCE", "INDEX", "NOCACHE", "NODEGROUP", "PARTITION", "PASSWORD", "PLACEMENT", "REMOVE", "SEQUENCE", "STORAGE",
		"TABLESPACE", "TRANSACTIONAL", "TYPE", "UNION")
}

// refuseRest refuses what follows an option of ours in a comment, unless another one begins there: outside the comment
// the server would refuse it. INTERVAL 1 MONTH * 2 must not be taken for a month. The next comment may be for another
// server, and begin with any name.
func (l *optionList) refuseRest(g given) {
	rest := l.over(l.all[tokenAt(l.all, g.end):])
	comma := rest.takeMark(',')
	t := rest.current()
	if rest.done() || !t.hidden {
		return
	}
	same := g.hidden && l.outermostHidden(t).start == l.outermostHidden(g.token).start
	if begins := rest.begins(comma) || !same && l.named(t); !begins {
		l.refuse(t.start, "in a comment nothing but another option may follow one")
	}
}

// refuseParts refuses an option of which a part stands in another comment: not everybody would read the same.
func (l *optionList) refuseParts(g given) {
	inside := l.all[tokenAt(l.all, g.start):tokenAt(l.all, g.end)]
	if slices.ContainsFunc(inside, func(t token) bool { return t.comment != g.comment }) {
		l.refuse(g.start, "a TTL option cannot stand half inside a comment and half outside")
	}
}

// refuseMisplaced refuses a comment with an option of ours where none belongs.
func (l *optionList) refuseMisplaced() {
	for ; !l.done(); l.skip() {
		if l.written() {
			l.refuse(l.current().start, misplaced)
			return
		}
	}
}
