package ddl

import "bytes"

// Candidate reports whether a text may concern us. It is called for every statement of every
// session, allocates nothing and knows no session settings, and so errs towards true: only Parse
// knows. It is true when
//
//   - the first keyword, behind blanks and comments, or one behind a semicolon, begins a statement
//     we read, or an executable comment stands there; or
//   - a word begins with tidb_ttl_, as the names of TiDB's tables do; or
//   - one begins with ttl_, as the names of our settings do, in a SET or where a variable is read.
//     Columns may be called so, too.
func Candidate(text []byte) bool {
	setting, table := names(text)
	if table || setting && bytes.Contains(text, []byte("@@")) {
		return true
	}

	for comments := 0; ; {
		if opens(text, setting) {
			return true
		}
		if startsComment(skipPlain(text)) {
			if comments++; comments > manyComments {
				return true
			}
		}

		i := bytes.IndexByte(text, ';')
		if i < 0 {
			return false
		}

		text = text[i+1:]
	}
}

// manyComments is how many comments at the beginnings of statements are looked behind: each may
// reach to the end of the text.
const manyComments = 32

// skipPlain is the text behind blanks and parentheses.
func skipPlain(text []byte) []byte {
	for len(text) > 0 && (mayBeBlank(text[0]) || text[0] == '(') {
		text = text[1:]
	}
	return text
}

// startsComment reports whether a comment may begin here.
func startsComment(text []byte) bool {
	return len(text) > 0 && (text[0] == '#' || text[0] == '-' || text[0] == '/')
}

// opens reports whether text begins with a keyword of ours, or with an executable comment, which
// may hold one. A SET is ours if it may name a setting. Of what begins with a keyword that servers
// have for much else, enough is read to leave that out.
func opens(text []byte, setting bool) bool {
	i := skipBlanks(text)
	if executable(text[i:]) {
		return true
	}

	end := i
	for end < len(text) && isNameByte(text[end]) && !mayBeBlank(text[end]) {
		end++
	}

	var upper [10]byte
	if end == i || end-i > len(upper) {
		return false
	}

	for n, c := range text[i:end] {
		if isLetter(c) {
			c &^= 0x20
		}
		upper[n] = c
	}

	return opening(string(upper[:end-i]), text[end:], setting)
}

func opening(first string, rest []byte, setting bool) bool {
	switch first {
	case "ALTER", "CREATE", "DROP", "RENAME", "TRUNCATE", "OPTIMIZE", "REPAIR",
		"PREPARE", "EXECUTE", "DEALLOCATE",
		"RUN", "CANCEL", "PAUSE", "RESUME", "APPROVE", "TRUST":
		return true
	case "RESTORE":
		return mentions(rest, "TTL")
	case "SHOW":
		return mentions(rest, "TTL") || mentions(rest, "CREATE") || mentions(rest, "VARIABLES") ||
			mentions(rest, "WARNINGS") || mentions(rest, "ERRORS")
	case "EXPLAIN", "DESC", "DESCRIBE":
		return mentions(rest, "TTL")
	case "SET":
		return setting || opensBehindFor(rest[skipBlanks(rest):], setting)
	}
	return false
}

// opensBehindFor reports whether what follows SET is a STATEMENT, on MariaDB, that may lead to one
// of ours: behind a FOR. Comments play too many games to be looked behind.
func opensBehindFor(text []byte, setting bool) bool {
	const statement = "STATEMENT"
	if !executable(text) && (len(text) < len(statement) || !bytes.EqualFold(text[:len(statement)], []byte(statement))) {
		return false
	}
	if bytes.Contains(text, []byte("/*!")) || bytes.Contains(text, []byte("/*M!")) ||
		bytes.Contains(text, []byte("/*T!")) {
		return true
	}

	for {
		i := find(text, "FOR")
		if i < 0 {
			return false
		}

		text = skipPlain(text[i+len("FOR"):])
		if startsComment(text) || opens(text, setting) {
			return true
		}
	}
}

// mentions reports whether a word, in capitals, stands anywhere in the text.
func mentions(text []byte, word string) bool { return find(text, word) >= 0 }

// find returns the place of a word, in capitals, or of its letters within another one; -1 if there
// is none.
func find(text []byte, word string) int {
	for i := 0; i+len(word) <= len(text); i++ {
		if text[i]&^0x20 == word[0]&^0x20 && bytes.EqualFold(text[i:i+len(word)], []byte(word)) {
			return i
		}
	}
	return -1
}

// skipBlanks returns the place of the first byte that is neither blank nor in a plain comment.
func skipBlanks(text []byte) int {
	for i := 0; i < len(text); {
		rest := text[i:]
		switch {
		case mayBeBlank(rest[0]) || rest[0] == '(':
			i++
		case rest[0] == '#', bytes.HasPrefix(rest, []byte("--")):
			n := bytes.IndexByte(rest, '\n')
			if n < 0 {
				return len(text)
			}
			i += n + 1
		case bytes.HasPrefix(rest, []byte("/*")) && !executable(rest):
			n := bytes.Index(rest[2:], []byte("*/"))
			if n < 0 {
				return len(text)
			}
			i += 2 + n + 2
		default:
			return i
		}
	}
	return len(text)
}

// mayBeBlank reports whether a byte is a blank in some character set. As part of a letter in another
// one it stands in no keyword.
func mayBeBlank(c byte) bool { return c <= ' ' || c == noBreak || c == noBreakDOS }

// executable reports whether a comment begins that some server looks into.
func executable(text []byte) bool {
	return bytes.HasPrefix(text, []byte("/*!")) || bytes.HasPrefix(text, []byte("/*M!")) ||
		bytes.HasPrefix(text, []byte("/*T!"))
}

// names reports whether a word of the text begins with ttl_, and whether one begins with tidb_ttl_.
// Only one of every four bytes is examined: whichever letter of ttl_ it is says where the word
// would begin.
func names(text []byte) (setting, table bool) {
	for i := 3; i < len(text); i += 4 {
		var at int
		switch text[i] {
		case '_':
			at = i - 3
		case 'l', 'L':
			at = i - 2
		case 't', 'T':
			if at = i - 1; !named(text, at) {
				at = i
			}
		default:
			continue
		}

		if !named(text, at) {
			continue
		}

		const tidb = "tidb_"
		if at >= len(tidb) && bytes.EqualFold(text[at-len(tidb):at], []byte(tidb)) {
			at, table = at-len(tidb), table || begins(text, at-len(tidb))
		}

		setting = setting || begins(text, at)
	}
	return setting, table
}

// named reports whether ttl_ stands at i.
func named(text []byte, i int) bool {
	return i+4 <= len(text) && text[i]|0x20 == 't' && text[i+1]|0x20 == 't' && text[i+2]|0x20 == 'l' && text[i+3] == '_'
}

// begins reports whether no word extends to i from the left.
func begins(text []byte, i int) bool {
	return i == 0 || !isNameByte(text[i-1]) || mayBeBlank(text[i-1])
}

// ExecutesName reports whether a text is EXECUTE name and nothing else, which it may also be when
// this says no: it reads no comments. Such a statement concerns only those who know the name.
func ExecutesName(text []byte) bool {
	const execute = "EXECUTE"
	text = skipPlain(text)
	if len(text) <= len(execute) || text[len(execute)] > ' ' ||
		!bytes.EqualFold(text[:len(execute)], []byte(execute)) {
		return false
	}
	rest := text[len(execute):]
	return !bytes.ContainsAny(rest, ";/#-") && !mentions(rest, "IMMEDIATE")
}
