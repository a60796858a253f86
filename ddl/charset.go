package ddl

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// Wide reports whether even ASCII takes more than a byte in a character set. Statements cannot come
// in such a set, but a client can ask for results in one.
func Wide(charset string) bool {
	switch charset {
	case "utf16", "utf16le", "ucs2", "utf32":
		return true
	}
	return false
}

// encodingOf returns the encoding of a client character set of the server, or nil for those that
// are UTF-8 already.
func encodingOf(charset string) encoding.Encoding {
	switch charset {
	case "latin1":
		return charmap.Windows1252
	case "latin2":
		return charmap.ISO8859_2
	case "latin5":
		return charmap.ISO8859_9
	case "latin7":
		return charmap.ISO8859_13
	case "greek":
		return charmap.ISO8859_7
	case "hebrew":
		return charmap.ISO8859_8
	case "cp1250":
		return charmap.Windows1250
	case "cp1251":
		return charmap.Windows1251
	case "cp1256":
		return charmap.Windows1256
	case "cp1257":
		return charmap.Windows1257
	case "cp850":
		return charmap.CodePage850
	case "cp852":
		return charmap.CodePage852
	case "cp866":
		return charmap.CodePage866
	case "koi8r":
		return charmap.KOI8R
	case "koi8u":
		return charmap.KOI8U
	case "macroman":
		return charmap.Macintosh
	case "tis620":
		return charmap.Windows874
	case "gbk", "gb2312":
		return simplifiedchinese.GBK
	case "gb18030":
		return simplifiedchinese.GB18030
	case "big5":
		return traditionalchinese.Big5
	case "sjis", "cp932":
		return japanese.ShiftJIS
	case "ujis", "eucjpms":
		return japanese.EUCJP
	case "euckr":
		return korean.EUCKR
	case "utf16", "ucs2":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case "utf16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "utf32":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	}
	return nil
}

// Nameable reports whether a name can be the name of anything: the servers keep names in UTF-8 of
// at most three bytes a character.
func Nameable(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r > 0xFFFF })
}

// Plain reports whether bytes mean the same in a character set as in UTF-8, so that nobody needs to
// ask the server.
func Plain(s, charset string) bool {
	switch charset {
	case "", "utf8", "utf8mb3", "utf8mb4", "binary":
		return utf8.ValidString(s) && Nameable(s)
	case "ascii", "armscii8", "dec8", "geostd8", "hp8", "keybcs2", "macce", "macroman":
		return isASCII(s)
	}
	return encodingOf(charset) != nil && !Wide(charset) && isASCII(s)
}

// Decode turns bytes of the client's character set into UTF-8.
func Decode(s, charset string) string {
	if isASCII(s) && !Wide(charset) {
		return s
	}
	if e := encodingOf(charset); e != nil {
		if decoded, err := e.NewDecoder().String(s); err == nil {
			return decoded
		}
	}
	return s
}

// Encode turns UTF-8 into a client's character set. What the set does not have becomes a question
// mark, as the server writes it.
func Encode(s, charset string) string {
	if isASCII(s) && !Wide(charset) {
		return s
	}
	if e := encodingOf(charset); e != nil {
		if encoded, err := encoding.ReplaceUnsupported(e.NewEncoder()).String(s); err == nil {
			return encoded
		}
	}
	return s
}

// Spells reports whether a client's character set has every letter of s.
func Spells(s, charset string) bool { return Decode(Encode(s, charset), charset) == s }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
