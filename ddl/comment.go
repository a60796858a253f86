package ddl

import (
	"strconv"
	"strings"
)

// comment reads the comment at i and returns the place behind it. The body of an executable one becomes tokens:
//
//	/*! … */  /*!80013 … */   run by both servers, if their version is reached
//	/*M! … */ /*M!100303 … */ run by MariaDB alone
//	/*T! … */ /*T![ttl] … */  run by TiDB alone; we look into the second only for the feature ttl
//
// A body that the server does not run still counts when it holds our clauses, so its tokens are marked hidden.
func (s *source) comment(i, limit int, hidden bool) int {
	body, use := s.opening(i, limit)
	if use == ignored {
		return s.skipComment(i+2, limit)
	}
	index := len(s.comments)
	s.comments = append(s.comments, comment{start: i, hidden: hidden || use != run})
	var end int
	switch use {
	case run:
		end = s.scan(body, limit, index+1, hidden)
	case skipped:
		end = s.skipNested(body, limit)
		s.scan(body, end, index+1, true)
	default:
		end = s.skipComment(i+2, limit)
		s.scan(body, end, index+1, true)
	}
	s.comments[index].end = end
	return end
}

// use says what the server and we do with a comment.
type use int

const (
	ignored use = iota // a plain comment
	run                // the server runs the body
	skipped            // the server knows the form but not the version: plain comments inside do not end it
	foreign            // a plain comment for the server, which we look into
)

// opening looks at the head of the comment at i: where its body begins, and what to do with it.
func (s *source) opening(i, limit int) (body int, u use) {
	head := s.text[i+2 : limit]
	switch {
	case strings.HasPrefix(head, "!"):
		length, version := versionDigits(head[1:])
		return i + 3 + length, runs(s.runs(version))
	case strings.HasPrefix(head, "M!") && s.mode.MariaDB:
		length, version := versionDigits(head[2:])
		return i + 4 + length, runs(s.reached(version))
	case strings.HasPrefix(head, "M!"):
		length, _ := versionDigits(head[2:])
		return i + 4 + length, foreign
	case strings.HasPrefix(head, "T!["):
		features, _, closed := strings.Cut(head[3:], "]")
		if !closed || !hasFeature(features) {
			return 0, ignored
		}
		return i + 6 + len(features), foreign
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

// hasFeature reports whether a feature list such as "ttl" or "clustered_index,ttl" holds only what TTL needs: TiDB
// runs a body when it knows every feature named.
func hasFeature(list string) bool {
	for feature := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(feature) == "ttl" {
			return true
		}
	}
	return false
}

// versionDigits reads the five or six digits of a version. Fewer are part of the body.
func versionDigits(head string) (length, version int) {
	for length < len(head) && length < 6 && isDigit(head[length]) {
		length++
	}
	if length < 5 {
		return 0, 0
	}
	version, _ = strconv.Atoi(head[:length])
	return length, version
}

// runs reports whether the server runs the body of /*!version. MariaDB leaves MySQL's versions 5.7 to 9.99 alone.
func (s *source) runs(version int) bool {
	if s.mode.MariaDB && version >= 50700 && version <= 99999 {
		return false
	}
	return s.reached(version)
}

func (s *source) reached(version int) bool {
	return s.mode.Version == 0 || version <= s.mode.Version
}

// skipComment returns the place behind the next */.
func (s *source) skipComment(i, limit int) int {
	if n := strings.Index(s.text[i:limit], "*/"); n >= 0 {
		return i + n + 2
	}
	return limit
}

// skipNested does the same for an executable comment that is not run, which may hold plain comments.
func (s *source) skipNested(i, limit int) int {
	for i+1 < limit {
		switch {
		case s.text[i] == '*' && s.text[i+1] == '/':
			return i + 2
		case s.text[i] == '/' && s.text[i+1] == '*':
			i = s.skipComment(i+2, limit)
		default:
			i++
		}
	}
	return limit
}
