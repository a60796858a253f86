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

	for {
		if opens(text, setting) {
			return true
		}

		i := bytes.IndexByte(text, ';')
		if i < 0 {
			return false
		}

		text = text[i+1:]
	}
}

// opens reports whether text begins with a keyword of ours, or with an executable comment, which
// may hold one. A SET is ours if it may name a setting.
func opens(text []byte, setting bool) bool {
	i := skipBlanks(text)
	if executable(text[i:]) {
		return true
	}

	end := i
	for end < len(text) && isNameByte(text[end]) {
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
		"SHOW", "EXPLAIN", "DESC", "DESCRIBE", "PREPARE", "EXECUTE", "DEALLOCATE",
		"RUN", "CANCEL", "PAUSE", "RESUME", "APPROVE", "TRUST":
		return true
	case "SET":
		const statement = "STATEMENT"
		rest = rest[skipBlanks(rest):]
		return setting || len(rest) >= len(statement) && bytes.EqualFold(rest[:len(statement)], []byte(statement))
	}
	return false
}

// skipBlanks returns the place of the first byte that is neither blank nor in a plain comment.
func skipBlanks(text []byte) int {
	for i := 0; i < len(text); {
		rest := text[i:]
		switch {
		case rest[0] <= ' ' || rest[0] == '(':
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
func begins(text []byte, i int) bool { return i == 0 || !isNameByte(text[i-1]) }
