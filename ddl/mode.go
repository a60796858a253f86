package ddl

// Mode is how a session's settings change the reading of its statements.
type Mode struct {
	ANSIQuotes         bool   // sql_mode ANSI_QUOTES: "x" is an identifier
	NoBackslashEscapes bool   // sql_mode NO_BACKSLASH_ESCAPES: \ is an ordinary character
	MariaDB            bool   // which executable comments the server runs
	Version            int    // of the server as in executable comments: 101108, 90704; 0 runs every version
	Charset            string // character_set_client; empty means one that extends ASCII bytewise, such as utf8mb4
}

// blank reports whether a byte separates words. In some character sets a no-break space does, which
// editors and web pages like to put between two words.
func (m Mode) blank(c byte) bool {
	switch {
	case c <= ' ':
		return true
	case c != noBreak && c != noBreakDOS:
		return false
	}

	switch m.Charset {
	case "latin1", "latin2", "latin5", "latin7", "greek", "hebrew", "cp1250", "armscii8", "dec8", "geostd8":
		return c == noBreak
	case "cp852", "cp866", "keybcs2":
		return c == noBreakDOS
	}
	return false
}

const (
	noBreak    = 0xA0 // in Latin-1 and its relatives
	noBreakDOS = 0xFF // in DOS' character sets
)

// wide is the length of the character that begins at text[i], if its second byte could be taken for
// a quote or a backslash: in these character sets 縺 or 誠 end in the byte of '\' or '`'. Otherwise
// it is 1.
func (m Mode) wide(text string, i int) int {
	if text[i] < 0x80 || i+1 >= len(text) {
		return 1
	}

	lead, trail := text[i], text[i+1]
	var pair bool
	switch m.Charset {
	case "gbk", "gb18030":
		pair = lead >= 0x81 && lead <= 0xFE && trail >= 0x40 && trail != 0x7F && trail != 0xFF
	case "sjis", "cp932":
		pair = (lead >= 0x81 && lead <= 0x9F || lead >= 0xE0 && lead <= 0xFC) && trail >= 0x40 && trail != 0x7F &&
			trail <= 0xFC
	case "big5":
		pair = lead >= 0xA1 && lead <= 0xF9 && (trail >= 0x40 && trail <= 0x7E || trail >= 0xA1 && trail <= 0xFE)
	}

	if pair {
		return 2
	}

	return 1
}
