package ddl

import (
	"cmp"
	"slices"
	"strings"
)

// cut is a stretch of bytes that does not reach the server, and what replaces it, which is nearly
// always nothing.
type cut struct {
	start, end  int
	replacement string
}

// Forward returns the statement for the server: all its bytes except the cut ones.
func (s *Statement) Forward() string {
	if len(s.cuts) == 0 {
		return s.Text()
	}

	var b strings.Builder
	at := s.start
	for _, c := range s.cuts {
		b.WriteString(s.source.text[at:c.start])
		if c.replacement == "" && s.glues(c) {
			b.WriteByte(' ')
		}
		b.WriteString(c.replacement)
		at = c.end
	}

	b.WriteString(s.source.text[at:s.end])
	return b.String()
}

// Changed reports whether Forward differs from Text.
func (s *Statement) Changed() bool { return len(s.cuts) > 0 }

// Replace replaces bytes of the packet, such as those of a token, in what Forward returns.
func (s *Statement) Replace(start, end int, with string) {
	s.cuts = append(s.cuts, cut{start, end, with})
	slices.SortFunc(s.cuts, func(a, b cut) int { return cmp.Compare(a.start, b.start) })
}

// glues reports whether the bytes on both sides of a cut would run into one token.
func (s *Statement) glues(c cut) bool {
	if c.start <= s.start || c.end >= s.end {
		return false
	}
	before, after := s.source.text[c.start-1], s.source.text[c.end]
	joins := func(b byte) bool { return isNameByte(b) || strings.IndexByte("'\"`/*-.@", b) >= 0 }
	return joins(before) && joins(after)
}

// piece is a part of a list of options or specs: one of ours, one of the server's, or a comma.
type piece struct {
	token // its bytes; kind is not used
	comma bool
	ours  bool
}

// pieces is a list of options or specs.
type pieces []piece

func (p *pieces) add(t token, ours bool) {
	*p = append(*p, piece{token: t, ours: ours})
}

func (p *pieces) comma(t token) {
	*p = append(*p, piece{token: t, comma: true})
}

// cuts says what to take out: all our pieces, and all but one of the commas between two of the
// server's. A comma that separates nothing stays, so that the server refuses it.
func (p pieces) cuts() []cut {
	var cuts []cut
	kept, separated := false, false // is there a piece of the server's on the left, and a comma behind it
	for n, piece := range p {
		switch {
		case piece.ours:
			cuts = append(cuts, cut{start: piece.start, end: piece.end})
		case !piece.comma:
			kept, separated = true, false
		case !p.separates(n):
		case kept && !separated && p.serversAfter(n):
			separated = true
		case p.touchesOurs(n) || separated:
			cuts = append(cuts, cut{start: piece.start, end: piece.end})
		}
	}

	return cuts
}

// separates reports whether the comma at n stands between two pieces.
func (p pieces) separates(n int) bool {
	return n > 0 && !p[n-1].comma && n+1 < len(p) && !p[n+1].comma
}

func (p pieces) touchesOurs(n int) bool { return p[n-1].ours || p[n+1].ours }

func (p pieces) serversAfter(n int) bool {
	return slices.ContainsFunc(p[n:], func(q piece) bool { return !q.comma && !q.ours })
}

// wholeComments widens cuts that empty an executable comment to the comment itself.
func (s *source) wholeComments(tokens []token, cuts []cut) []cut {
	for index, comment := range s.comments {
		covers := func(c cut) bool { return c.start <= comment.start && comment.end <= c.end }
		inside := slices.ContainsFunc(cuts, covers) // one that is cut as a whole
		if inside || s.endsAround(comment) || !s.emptied(index+1, tokens, cuts) {
			continue
		}
		cuts = slices.DeleteFunc(cuts, func(c cut) bool { return c.start >= comment.start && c.end <= comment.end })
		cuts = append(cuts, cut{start: comment.start, end: comment.end})
	}
	slices.SortFunc(cuts, func(a, b cut) int { return cmp.Compare(a.start, b.start) })
	return cuts
}

// endsAround reports whether the end of a comment is also that of the one around it, which has to stay then: the server
// does not count depth.
func (s *source) endsAround(c comment) bool {
	return c.inside > 0 && s.comments[c.inside-1].end == c.end
}

// emptied reports whether the comment held tokens of its own and all of them are cut. That one never ends is a token
// without length, and stays: the server refuses the statement because of it.
func (s *source) emptied(index int, tokens []token, cuts []cut) bool {
	held := false
	for _, t := range tokens {
		inside := t.start >= s.comments[index-1].start && t.end <= s.comments[index-1].end
		if !inside {
			continue
		}
		held = true
		covers := func(c cut) bool { return c.start <= t.start && t.end <= c.end }
		if t.start == t.end || !slices.ContainsFunc(cuts, covers) {
			return false
		}
	}
	return held
}
