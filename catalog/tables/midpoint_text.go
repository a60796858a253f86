package tables

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// caseless is the alphabet of guesses under collations that ignore case: in all of them digits come
// before letters.
const caseless = " 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// middleText interpolates characters: ASCII letters and digits where the collation ignores case,
// code points elsewhere. A guess that the collation sorts elsewhere costs balance, never rows.
func (c Column) middleText(lo, hi Value) (Value, bool) {
	lo, hi = c.decode(lo), c.decode(hi)
	binary := strings.HasSuffix(c.Collation, "_bin")
	if !binary {
		lo, hi = Value(strings.ToUpper(string(lo))), Value(strings.ToUpper(string(hi)))
	}

	n := commonRunes(lo, hi)
	prefix, lo, hi := hi[:n], lo[n:], hi[n:]
	if !binary && ascii(lo) && ascii(hi) {
		mid, ok := middleDigits(int64(len(caseless)), letterDigits(lo), letterDigits(hi))
		return c.encode(prefix + letters(mid)), ok
	}

	mid, ok := middleDigits(utf8.MaxRune+1, runeDigits(lo), runeDigits(hi))
	return c.encode(prefix + runes(mid)), ok
}

// wideCharsets are those in which an ASCII letter takes more than one byte.
var wideCharsets = map[string]encoding.Encoding{
	"ucs2":    unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
	"utf16":   unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
	"utf16le": unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
	"utf32":   utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM),
}

// decode turns the column's bytes into UTF-8; what cannot be decoded becomes the replacement
// character.
func (c Column) decode(v Value) Value {
	if e, wide := wideCharsets[c.Charset]; wide {
		text, err := e.NewDecoder().String(string(v))
		if err != nil {
			return ""
		}
		return Value(text)
	}
	return Value(ddl.Decode(string(v), c.Charset))
}

// encode turns a guess into the column's bytes; what its set does not have becomes a question mark.
func (c Column) encode(v Value) Value {
	if e, wide := wideCharsets[c.Charset]; wide {
		text, err := encoding.ReplaceUnsupported(e.NewEncoder()).String(string(v))
		if err != nil {
			return ""
		}
		return Value(text)
	}
	return Value(ddl.Encode(string(v), c.Charset))
}

func ascii(v Value) bool {
	return !strings.ContainsFunc(string(v), func(r rune) bool { return r >= utf8.RuneSelf })
}

// commonRunes is the length of the common prefix in bytes, whole characters.
func commonRunes(a, b Value) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

func letterDigits(v Value) []int64 {
	digits := make([]int64, len(v))
	for i := range v {
		// The place of the character, or of the last one of the alphabet before it.
		digits[i] = int64(max(strings.LastIndexFunc(caseless, func(r rune) bool { return r <= rune(v[i]) }), 0))
	}
	return digits
}

func letters(digits []int64) Value {
	var b strings.Builder
	for _, d := range digits {
		b.WriteByte(caseless[d])
	}
	return Value(strings.TrimRight(b.String(), " "))
}

func runeDigits(v Value) []int64 {
	var digits []int64
	for _, r := range string(v) {
		digits = append(digits, int64(r))
	}
	return digits
}

func runes(digits []int64) Value {
	var b strings.Builder
	for _, d := range digits {
		r := rune(d)
		switch {
		case r < ' ':
			r = ' '
		case !utf8.ValidRune(r):
			r = 0xD7FF // the last before the surrogates
		}
		b.WriteRune(r)
	}
	return Value(strings.TrimRight(b.String(), " "))
}
