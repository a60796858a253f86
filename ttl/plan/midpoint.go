package plan

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// midpoint guesses a value about half way between two values of a column, strictly above lo where it can be. It
// need not exist in the table nor be a good guess: callers look at what the index holds there. ok is false where
// no guess can be made.
func (c Column) midpoint(lo, hi Value) (mid Value, ok bool) {
	switch c.Kind {
	case Ordinal:
		if c.Values > enumerated {
			return "", false // no index serves the comparison
		}
		return middleNumber(lo, hi)
	case Number, Bits, Year:
		return middleNumber(lo, hi)
	case Date:
		return middleTime(lo, hi, time.DateOnly)
	case Datetime, Timestamp:
		return middleTime(lo, hi, "2006-01-02 15:04:05.999999")
	case Time:
		return middleClock(lo, hi)
	case Bytes:
		return middleBytes(lo, hi)
	case Text:
		return c.middleText(lo, hi)
	case Named:
		if mid, ok := middleAddress(lo, hi); ok {
			return mid, true
		}
		return middleUUID(lo, hi)
	default:
		return "", false
	}
}

// middleNumber rounds up, so that neighbours give the upper one.
func middleNumber(lo, hi Value) (Value, bool) {
	a, okA := new(big.Rat).SetString(string(lo))
	b, okB := new(big.Rat).SetString(string(hi))
	if !okA || !okB {
		return "", false
	}
	_, fraction, _ := strings.Cut(string(hi), ".")
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(fraction))), nil)
	sum := a.Add(a, b)
	sum.Mul(sum, new(big.Rat).SetFrac(scale, big.NewInt(2)))
	n := new(big.Int).Div(sum.Num(), sum.Denom()) // rounds down, also below zero
	if !sum.IsInt() {
		n.Add(n, big.NewInt(1))
	}
	text := new(big.Rat).SetFrac(n, scale).FloatString(len(fraction))
	if text == string(lo) {
		return "", false
	}
	return Value(text), true
}

func middleTime(lo, hi Value, layout string) (Value, bool) {
	a, errA := time.Parse(layout, string(lo))
	b, errB := time.Parse(layout, string(hi))
	if errA != nil || errB != nil {
		return "", false // zero dates
	}
	// In seconds: a Duration does not span a thousand years.
	mid := time.Unix(a.Unix()+(b.Unix()-a.Unix()+1)/2, 0).UTC()
	if layout == time.DateOnly {
		mid = mid.Add(24*time.Hour - time.Second).Truncate(24 * time.Hour)
	}
	return Value(mid.Format(layout)), mid.After(a)
}

// middleClock interpolates values of TIME in whole seconds: "-838:59:59" to "838:59:59.999999".
func middleClock(lo, hi Value) (Value, bool) {
	a, okA := clockSeconds(lo)
	b, okB := clockSeconds(hi)
	mid := a + (b-a+1)/2
	if !okA || !okB || mid <= a {
		return "", false
	}
	sign, abs := "", mid
	if mid < 0 {
		sign, abs = "-", -mid
	}
	return Value(fmt.Sprintf("%s%02d:%02d:%02d", sign, abs/3600, abs/60%60, abs%60)), true
}

// clockSeconds reads a TIME without its fraction.
func clockSeconds(v Value) (int, bool) {
	text, negative := strings.CutPrefix(string(v), "-")
	var h, m, s int
	if n, err := fmt.Sscanf(text, "%d:%d:%d", &h, &m, &s); n != 3 || err != nil {
		return 0, false
	}
	seconds := h*3600 + m*60 + s
	if negative {
		seconds = -seconds
	}
	return seconds, true
}

// middleAddress interpolates INET4 and INET6, which are ordered by their bytes.
func middleAddress(lo, hi Value) (Value, bool) {
	a, errA := netip.ParseAddr(string(lo))
	b, errB := netip.ParseAddr(string(hi))
	if errA != nil || errB != nil || a.Is4() != b.Is4() {
		return "", false
	}
	digits, ok := middleDigits(256, byteDigits(Value(a.AsSlice())), byteDigits(Value(b.AsSlice())))
	bytes := make([]byte, len(a.AsSlice()))
	for i := range min(len(digits), len(bytes)) {
		bytes[i] = byte(digits[i])
	}
	mid, sized := netip.AddrFromSlice(bytes)
	return Value(mid.String()), ok && sized
}

func middleBytes(lo, hi Value) (Value, bool) {
	n := 0
	for n < len(lo) && n < len(hi) && lo[n] == hi[n] {
		n++
	}
	mid, ok := middleDigits(256, byteDigits(lo[n:]), byteDigits(hi[n:]))
	tail := make([]byte, len(mid))
	for i, d := range mid {
		tail[i] = byte(d)
	}
	return hi[:n] + Value(tail), ok
}

func byteDigits(v Value) []int64 {
	digits := make([]int64, len(v))
	for i := range v {
		digits[i] = int64(v[i])
	}
	return digits
}

// middleDigits reads digits as fractions in a base and returns the one half way, to a few digits.
func middleDigits(base int64, lo, hi []int64) ([]int64, bool) {
	same := 0
	for same < len(lo) && same < len(hi) && lo[same] == hi[same] {
		same++
	}
	prefix, lo, hi := hi[:same:same], lo[same:], hi[same:]
	const depth = 8
	fraction := func(digits []int64) *big.Int {
		x := new(big.Int)
		for i := range depth {
			x.Mul(x, big.NewInt(base))
			if i < len(digits) {
				x.Add(x, big.NewInt(digits[i]))
			}
		}
		return x
	}
	a, b := fraction(lo), fraction(hi)
	if a.Cmp(b) >= 0 {
		return nil, false
	}
	mid := a.Add(a, b)
	mid.Add(mid, big.NewInt(1)).Rsh(mid, 1)
	digits := make([]int64, depth)
	for i := depth - 1; i >= 0; i-- {
		digit := new(big.Int)
		mid.DivMod(mid, big.NewInt(base), digit)
		digits[i] = digit.Int64()
	}
	return append(prefix, digits...), true
}

// wideCharsets are those in which an ASCII letter takes more than one byte.
var wideCharsets = map[string]encoding.Encoding{
	"ucs2": unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "utf16": unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
	"utf16le": unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "utf32": utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM),
}

// caseless is the alphabet of guesses under collations that ignore case: in all of them digits come before letters.
const caseless = " 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// middleText interpolates characters: ASCII letters and digits where the collation ignores case, code points
// elsewhere. A guess that the collation sorts elsewhere costs balance, never rows.
func (c Column) middleText(lo, hi Value) (Value, bool) {
	if encoding, wide := wideCharsets[c.Charset]; wide { // its bytes are not characters
		lo, errLo := encoding.NewDecoder().String(string(lo))
		hi, errHi := encoding.NewDecoder().String(string(hi))
		utf8 := c
		utf8.Charset = "utf8mb4"
		mid, ok := utf8.middleText(Value(lo), Value(hi))
		encoded, err := encoding.NewEncoder().String(string(mid))
		return Value(encoded), ok && errLo == nil && errHi == nil && err == nil
	}
	binary := strings.HasSuffix(c.Collation, "_bin")
	if !binary {
		lo, hi = Value(strings.ToUpper(string(lo))), Value(strings.ToUpper(string(hi)))
	}
	n := commonRunes(lo, hi)
	prefix, lo, hi := hi[:n], lo[n:], hi[n:]
	if !binary && ascii(lo) && ascii(hi) {
		mid, ok := middleDigits(int64(len(caseless)), letterDigits(lo), letterDigits(hi))
		return prefix + letters(mid), ok
	}
	if !strings.HasPrefix(c.Charset, "utf8") && (!ascii(lo) || !ascii(hi)) {
		mid, ok := middleBytes(lo, hi)
		return prefix + mid, ok
	}
	mid, ok := middleDigits(utf8.MaxRune+1, runeDigits(lo), runeDigits(hi))
	return prefix + runes(mid), ok
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

// middleUUID interpolates UUIDs in the order MariaDB keeps those of versions 1 to 5 in, groups from last to first, so
// that the node comes before the time; others it keeps as written. INET types have another shape and are not guessed.
func middleUUID(lo, hi Value) (Value, bool) {
	a, okA := hexDigits(lo)
	b, okB := hexDigits(hi)
	if !okA || !okB {
		return "", false
	}
	mixed := lo[14] < '6' && hi[14] < '6'
	if mixed {
		a, b = reorder(a, uuidStored), reorder(b, uuidStored)
	}
	mid, ok := middleDigits(16, a, b)
	if !ok {
		return "", false
	}
	mid = append(mid, make([]int64, len(a))...)[:len(a)]
	if mixed {
		mid = reorder(mid, uuidWritten)
	}
	guess := []byte(uuidText(mid))
	guess[14], guess[19] = hi[14], hi[19] // version and variant decide about the order
	return Value(guess), true
}

// uuidStored and uuidWritten cut 32 digits in groups for each direction.
var (
	uuidStored  = [][2]int{{20, 32}, {16, 20}, {12, 16}, {8, 12}, {0, 8}}
	uuidWritten = [][2]int{{24, 32}, {20, 24}, {16, 20}, {12, 16}, {0, 12}}
)

func reorder(digits []int64, groups [][2]int) []int64 {
	var ordered []int64
	for _, g := range groups {
		ordered = append(ordered, digits[g[0]:g[1]]...)
	}
	return ordered
}

func hexDigits(v Value) ([]int64, bool) {
	raw, err := hex.DecodeString(strings.ReplaceAll(string(v), "-", ""))
	if err != nil || len(raw) != 16 || len(v) != 36 {
		return nil, false
	}
	var digits []int64
	for _, b := range raw {
		digits = append(digits, int64(b>>4), int64(b&15))
	}
	return digits, true
}

func uuidText(digits []int64) Value {
	var b strings.Builder
	for i, d := range digits {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			b.WriteByte('-')
		}
		b.WriteByte("0123456789abcdef"[d])
	}
	return Value(b.String())
}

// midKey guesses a key between two keys: the prefix they share, and half way in the first column that differs. nil where
// no guess can be made.
func (cs Columns) midKey(lo, hi Key) Key {
	for i, c := range cs {
		if lo[i] == hi[i] {
			continue
		}
		if mid, ok := c.midpoint(lo[i], hi[i]); ok {
			return append(append(Key{}, lo[:i]...), mid)
		}
		return nil
	}
	return nil
}
