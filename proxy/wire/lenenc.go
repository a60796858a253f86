package wire

import "encoding/binary"

// First bytes of a length-encoded integer which are not the integer itself.
const (
	lenencNull = 0xFB
	lenenc2    = 0xFC
	lenenc3    = 0xFD
	lenenc8    = 0xFE
)

// AppendInt appends v as a length-encoded integer.
func AppendInt(dst []byte, v uint64) []byte {
	switch {
	case v < lenencNull:
		return append(dst, byte(v))
	case v < 1<<16:
		return append(dst, lenenc2, byte(v), byte(v>>8))
	case v < 1<<24:
		return append(dst, lenenc3, byte(v), byte(v>>8), byte(v>>16))
	}
	return binary.LittleEndian.AppendUint64(append(dst, lenenc8), v)
}

// AppendString appends s with its length-encoded length in front.
func AppendString[S string | []byte](dst []byte, s S) []byte {
	return append(AppendInt(dst, uint64(len(s))), s...)
}

// Int reads a length-encoded integer at the beginning of b and says how many bytes it takes;
// size 0 means that there is none: b is too short, or begins with NULL or 0xFF.
func Int(b []byte) (v uint64, size int) {
	if len(b) == 0 {
		return 0, 0
	}

	size = intSize(b[0])
	if size == 0 || len(b) < size {
		return 0, 0
	}
	if size == 1 {
		return uint64(b[0]), 1
	}

	for i := size - 1; i > 0; i-- {
		v = v<<8 | uint64(b[i])
	}

	return v, size
}

// intSize is the size of the length-encoded integer that begins with this byte, 0 if none does.
func intSize(first byte) int {
	switch first {
	case lenencNull, 0xFF:
		return 0
	case lenenc2:
		return 3
	case lenenc3:
		return 4
	case lenenc8:
		return 9
	}
	return 1
}

// String reads a length-encoded string and says how many bytes it takes with its length.
// The length is compared before it is converted: it may be anything up to 2^64-1.
func String(b []byte) (s []byte, size int, ok bool) {
	v, n := Int(b)
	if n == 0 || v > uint64(len(b)-n) {
		return nil, 0, false
	}
	end := n + int(v)
	return b[n:end:end], end, true
}
