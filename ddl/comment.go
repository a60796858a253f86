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
	body, runs, looked := s.opening(i, limit)
	if !looked {
		return s.skipComment(i+2, limit)
	}
	index := len(s.comments)
	s.comments = append(s.comments, comment{start: i, hidden: hidden || !runs})
	var end int
	if runs {
		end = s.scan(body, limit, index+1, hidden)
	} else {
		end = s.skipNested(body, limit)
		s.scan(body, end, index+1, true)
	}
	s.comments[index].end = end
	return end
}

// opening looks at the head of the comment at i: where its body begins, whether the server runs it, and
// whether we look into it at all.
func (s *source) opening(i, limit int) (body int, runs, looked bool) {
	head := s.text[i+2 : limit]
	switch {
	case strings.HasPrefix(head, "!"):
		length, version := versionDigits(head[1:])
		return i + 3 + length, s.runs(version), true
	case strings.HasPrefix(head, "M!"):
		length, version := versionDigits(head[2:])
		return i + 4 + length, s.mode.MariaDB && s.reached(version), true
	case strings.HasPrefix(head, "T!["):
		features, _, closed := strings.Cut(head[3:], "]")
		return i + 6 + len(features), false, closed && hasFeature(features)
	case strings.HasPrefix(head, "T!"):
		return i + 4, false, true
	}
	return 0, false, false
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
