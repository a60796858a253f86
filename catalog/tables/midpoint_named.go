package tables

import (
	"encoding/hex"
	"net/netip"
	"strings"
)

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

// middleUUID interpolates UUIDs in the order MariaDB keeps those of versions 1 to 5 in, groups from
// last to first, so that the node comes before the time; others it keeps as written. INET types
// have another shape and are not guessed.
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
