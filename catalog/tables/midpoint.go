package tables

import (
	"fmt"
	"math/big"
	"strings"
	"time"
)

// midpoint guesses a value about half way between two values of a column, strictly above lo where
// it can be. It need not exist in the table nor be a good guess: callers look at what the index
// holds there. ok is false where no guess can be made.
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

// MidKey guesses a key between two keys: the prefix they share, and half way in the first column
// that differs. nil where no guess can be made.
func (cs Columns) MidKey(lo, hi Key) Key {
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
