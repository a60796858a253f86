package ddl

import (
	"strconv"
	"strings"

	features "github.com/pingcap/tidb/pkg/parser/tidb"
)

// comment reads the comment at i and returns the place behind it, and whether the server runs its
// body. The body of an executable one becomes tokens:
//
//	/*! … */  /*!80013 … */   run by both servers, if their version is reached
//	/*M! … */ /*M!100303 … */ run by MariaDB alone
//	/*T! … */ /*T![ttl] … */  run by TiDB alone, the second if it knows the features that are named
//
// A body that the server does not run still counts if it contains our clauses, so its tokens are
// marked hidden. One that never ends, and that the server sees, is a token of its own, since the server
// refuses the statement because of it.
func (s *source) comment(i, limit, inside int, hidden bool) (end int, ran bool) {
	body, use := s.opening(i, limit)
	closed := true
	switch use {
	case run:
	case skipped:
		end, closed = s.skipNested(body, limit)
	default:
		end, closed = s.skipComment(i+2, limit)
	}

	if !closed && !hidden {
		s.tokens = append(s.tokens, token{kind: symbol, start: i, end: end, comment: inside})
	}
	if use == ignored || !closed {
		return end, false
	}

	index := len(s.comments)
	s.comments = append(s.comments, comment{start: i, inside: inside, hidden: hidden || use != run})
	if use == run {
		if end, closed = s.scan(body, limit, index+1, hidden); !closed && !hidden {
			s.tokens = append(s.tokens, token{kind: symbol, start: end, end: end, comment: index + 1})
		}
	} else {
		s.scan(body, end, index+1, true)
	}

	s.comments[index].end = end
	return end, use == run && !hidden
}

// use says what the server and we do with a comment.
type use int

const (
	ignored use = iota // a plain comment
	run                // the server runs the body
	skipped            // the server knows the form but not the version: plain comments inside do not end it
	foreign            // a plain comment for the server, which we look into
)

// opening reads the head of the comment at i: where its body begins, and what to do with it.
func (s *source) opening(i, limit int) (body int, u use) {
	head := s.text[i+2 : limit]
	switch {
	case strings.HasPrefix(head, "!"):
		length, version := s.versionDigits(head[1:])
		return i + 3 + length, runs(s.runs(version))
	case strings.HasPrefix(head, "M!") && s.mode.MariaDB:
		length, version := s.versionDigits(head[2:])
		return i + 4 + length, runs(s.reached(version))
	case strings.HasPrefix(head, "M!"):
		length, _ := s.versionDigits(head[2:])
		return i + 4 + length, foreign
	case strings.HasPrefix(head, "T!["):
		list, _, closed := strings.Cut(head[3:min(len(head), longestFeatures)], "]")
		if !closed || !knownFeatures(list) {
			return 0, ignored
		}
		return i + 6 + len(list), foreign
	case strings.HasPrefix(head, "T!"):
		return i + 4, foreign
	}

	return 0, ignored
}

func runs(yes bool) use {
	if yes {
		return run
	}
	return skipped
}

const longestFeatures = 256

// knownFeatures reports whether a list such as "clustered_index,ttl" names only what TiDB knows, which runs the body
// then, or ours.
func knownFeatures(list string) bool {
	for feature := range strings.SplitSeq(list, ",") {
		if name := strings.TrimSpace(feature); name != "ttlproxy" && !features.CanParseFeature(name) {
			return false
		}
	}
	return true
}

// versionDigits reads the five or six digits of a version. Fewer are part of the body, and for
// MySQL so is a sixth, unless a blank follows.
func (s *source) versionDigits(head string) (length, version int) {
	for length < len(head) && length < 6 && isDigit(head[length]) {
		length++
	}
	if length < 5 {
		return 0, 0
	}
	if length == 6 && !s.mode.MariaDB && (len(head) == 6 || !isBlank(head[6])) {
		length = 5
	}
	version, _ = strconv.Atoi(head[:length])
	return length, version
}

// runs reports whether the server runs the body of /*!version. MariaDB leaves MySQL's versions 5.7
// to 9.99 alone.
func (s *source) runs(version int) bool {
	if s.mode.MariaDB && version >= 50700 && version <= 99999 {
		return false
	}
	return s.reached(version)
}

func (s *source) reached(version int) bool {
	return s.mode.Version == 0 || version <= s.mode.Version
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// skipComment returns the place behind the next */, if there is one.
func (s *source) skipComment(i, limit int) (end int, closed bool) {
	if i < s.searched || i > s.ends { // else it is the one that was found last
		s.searched, s.ends = i, len(s.text)
		if n := strings.Index(s.text[i:], "*/"); n >= 0 {
			s.ends = i + n
		}
	}
	if s.ends+2 <= limit {
		return s.ends + 2, true
	}
	return limit, false
}

// skipNested does the same for an executable comment that is not run, which may hold plain
// comments.
func (s *source) skipNested(i, limit int) (end int, closed bool) {
	for i+1 < limit {
		switch {
		case s.text[i] == '*' && s.text[i+1] == '/':
			return i + 2, true
		case s.text[i] == '/' && s.text[i+1] == '*':
			i, _ = s.skipComment(i+2, limit)
		default:
			i++
		}
	}
	return limit, false
}
