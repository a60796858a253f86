package ddl

import (
	"slices"
	"strings"
)

// Comments that the server skips are read apart from what it sees, so that nothing in them changes what the rest of the
// statement means. They stand for options of ours and otherwise for nothing.

// readHidden reads the options in all comments from a place on, also behind the partitions, where old TiDB printed
// them, and returns what to cut. One that stands before that place is refused.
func (l *optionList) readHidden(from int) []cut {
	var cuts []cut
	for n := 0; n < len(l.all); {
		if !l.all[n].hidden {
			n++
			continue
		}

		first := n
		around := l.outermostHidden(l.all[n])
		n = tokenAt(l.all, around.end)

		h := &optionList{reader: &reader{source: l.source, st: l.st, tokens: l.all[first:n], all: l.all}}
		if around.start < from {
			h.refuseMisplaced()
			continue
		}
		cuts = append(cuts, h.commented(around)...)
		l.given = append(l.given, h.given...)
	}
	return cuts
}

// outermostHidden returns the comment around a hidden token that is in no other that the server skips.
func (s *source) outermostHidden(t token) comment {
	c := s.comments[t.comment-1]
	for c.inside > 0 && s.comments[c.inside-1].hidden {
		c = s.comments[c.inside-1]
	}
	return c
}

// commented reads one comment. If it holds nothing but options of ours, it is cut as a whole.
func (l *optionList) commented(around comment) []cut {
	native := false
	for !l.done() {
		switch t := l.current(); {
		case l.atClause():
			l.one()
			l.refuseRest()
		case l.takeMark(','):
			l.pieces.comma(t)
		case l.structural():
			native = true
			l.toNextChange()
		default:
			native = true
			l.native()
		}
	}

	switch {
	case len(l.given) == 0:
		return nil
	case native || l.endsAround(around):
		return l.pieces.cuts()
	}
	return []cut{{start: around.start, end: around.end}}
}

// toNextChange moves to the comma behind a change. The names in it are not ours, but nothing passes that is written
// like an option.
func (l *optionList) toNextChange() {
	first := l.at
	for !l.done() && !l.is(l.current(), ',') {
		if l.atOption() && l.is(l.ahead(1), '=') {
			l.reject(syntaxError(l.text, l.current().start, "an option and a change are separated by a comma"))
		}
		l.skip()
	}
	l.nativeFrom(first)
}

// refuseRest refuses what follows an option of ours in a comment, unless another one begins there: outside the comment
// the server would refuse it. INTERVAL 1 MONTH * 2 must not be taken for a month. The next comment may be for another
// server, and begin with any name.
func (l *optionList) refuseRest() {
	rest := &reader{source: l.source, st: l.st, tokens: l.all[tokenAt(l.all, l.behind()):]}
	rest.takeMark(',')
	t := rest.current()
	if begins := rest.beginsOption() || l.done() && l.named(t); !rest.done() && t.hidden && !begins {
		l.reject(syntaxError(l.text, t.start, "in a comment nothing but another option may follow one"))
	}
}

// beginsOption reports whether an option, of ours or of a server's, or a change begins here. All words with an
// underscore or an equals sign behind them are names of options.
func (r *reader) beginsOption() bool {
	t := r.current()
	if t.kind != word {
		return false
	}
	return r.ours(t) || r.structural() || r.is(r.ahead(1), '=') || strings.Contains(r.spelling(t), "_") ||
		r.oneOf(t, "AFFINITY", "CACHE", "CHARACTER", "CHARSET", "CHECKSUM", "COLLATE", "COMMENT", "COMPRESSION",
			"CONNECTION", "DATA", "DEFAULT", "ENCRYPTION", "ENGINE", "FORCE", "INDEX", "NOCACHE", "NODEGROUP",
			"PARTITION", "PASSWORD", "PLACEMENT", "REMOVE", "SEQUENCE", "STORAGE", "TABLESPACE", "TRANSACTIONAL",
			"TYPE", "UNION")
}

// refuseInside refuses an option with a comment in it that another server would look into.
func (l *optionList) refuseInside(g given) {
	inside := l.all[tokenAt(l.all, g.start):tokenAt(l.all, g.end)]
	if !g.hidden && slices.ContainsFunc(inside, func(t token) bool { return t.hidden }) {
		l.reject(syntaxError(l.text, g.start, halfInside))
	}
}

// refuseMisplaced refuses a comment that begins with an option of ours where none belongs.
func (l *optionList) refuseMisplaced() {
	l.takeMark(',')
	value := l.is(l.ahead(1), '=') || l.ahead(1).kind == text || l.is(l.ahead(2), '+') // no column is declared so
	if l.peek(0, "REMOVE", "TTL") || l.atOption() && value {
		l.reject(syntaxError(l.text, l.current().start, "TTL options belong behind the table's columns or name"))
	}
}
