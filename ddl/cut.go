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
	slices.SortFunc(s.cuts, byPlace)
}

// glues reports whether there is no blank on either side of a cut: what is left might run into one token.
func (s *Statement) glues(c cut) bool {
	if c.start <= s.start || c.end >= s.end {
		return false
	}
	return !isBlank(s.source.text[c.start-1]) && !isBlank(s.source.text[c.end])
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
	last := p.lastOfServers()
	for n, piece := range p {
		switch {
		case piece.ours:
			cuts = append(cuts, cut{start: piece.start, end: piece.end})
		case !piece.comma:
			kept, separated = true, false
		case !p.separates(n):
		case kept && !separated && n < last:
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

// lastOfServers is the index of the last piece that is the server's, or -1.
func (p pieces) lastOfServers() int {
	n := len(p) - 1
	for n >= 0 && (p[n].comma || p[n].ours) {
		n--
	}
	return n
}

// stray reports whether a comma separates nothing.
func (p pieces) stray() bool {
	for n := range p {
		if p[n].comma && !p.separates(n) {
			return true
		}
	}
	return false
}

// wholeComments widens cuts that empty an executable comment to the comment itself.
func (s *source) wholeComments(tokens []token, cuts []cut) []cut {
	slices.SortFunc(cuts, byPlace)
	all := slices.Clone(cuts)
	for _, c := range s.commentsOf(tokens) {
		if !s.endsAround(c) && emptied(within(tokens, c), cuts) {
			all = append(all, cut{start: c.start, end: c.end})
		}
	}

	slices.SortFunc(all, byPlace)
	end := 0
	return slices.DeleteFunc(all, func(c cut) bool {
		inside := c.end <= end // the cut before
		end = max(end, c.end)
		return inside
	})
}

// commentsOf are the comments around tokens, and those between them.
func (s *source) commentsOf(tokens []token) []comment {
	first, last := tokens[0], tokens[len(tokens)-1]
	all := s.comments[:commentAt(s.comments, last.end)]
	if c := s.outermost(first); c != nil {
		return all[commentAt(all, c.start):]
	}
	return all[commentAt(all, first.start):]
}

// commentAt returns the index of the first comment from a place on.
func commentAt(comments []comment, place int) int {
	n, _ := slices.BinarySearchFunc(comments, place, func(c comment, at int) int { return cmp.Compare(c.start, at) })
	return n
}

// byPlace sorts cuts by where they begin, and one before those inside it.
func byPlace(a, b cut) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) }

// endsAround reports whether the end of a comment is also that of the one around it, which has to stay then: the server
// does not count depth.
func (s *source) endsAround(c comment) bool {
	return c.inside > 0 && s.comments[c.inside-1].end == c.end
}

// within returns the tokens inside a comment.
func within(tokens []token, c comment) []token {
	from, to := tokenAt(tokens, c.start), tokenAt(tokens, c.end)
	if to < len(tokens) && tokens[to].start == tokens[to].end {
		to++ // the end that is missing
	}
	return tokens[from:to]
}

// tokenAt returns the index of the first token from a place on.
func tokenAt(tokens []token, place int) int {
	n, _ := slices.BinarySearchFunc(tokens, place, func(t token, place int) int { return cmp.Compare(t.start, place) })
	return n
}

// emptied reports whether there are tokens and all of them are cut. That a comment never ends is a token without length
// at its end, and stays: the server refuses the statement because of it.
func emptied(tokens []token, cuts []cut) bool {
	if len(tokens) == 0 {
		return false
	}
	if last := tokens[len(tokens)-1]; last.start == last.end {
		return false
	}

	n, _ := slices.BinarySearchFunc(cuts, tokens[0].end, func(c cut, end int) int { return cmp.Compare(c.end, end) })
	for _, t := range tokens {
		for n < len(cuts) && cuts[n].end < t.end {
			n++
		}
		if n == len(cuts) || cuts[n].start > t.start {
			return false
		}
	}
	return true
}
