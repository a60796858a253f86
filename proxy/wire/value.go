package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"
)

// appendText appends one value as the text protocol writes it, with its length. The value is nil,
// a string, []byte, an integer, a float64, a bool or a time.Time.
func appendText(dst []byte, c Column, v any) ([]byte, error) {
	if v == nil {
		return append(dst, lenencNull), nil
	}
	if s, ok := v.(string); ok {
		return AppendString(dst, s), nil
	}
	if b, ok := v.([]byte); ok {
		return AppendString(dst, b), nil
	}

	var room [32]byte
	text := room[:0]
	if t, ok := v.(time.Time); ok {
		return AppendString(dst, appendTime(text, t, c)), nil
	}
	if f, ok := v.(float64); ok {
		return AppendString(dst, strconv.AppendFloat(text, f, 'f', int(c.Decimals), 64)), nil
	}

	n, err := integer(c, v)
	if err != nil {
		return dst, err
	}

	return AppendString(dst, strconv.AppendInt(text, n, 10)), nil
}

// appendBinary appends one value that is not NULL as the binary protocol writes it, which the
// column's type decides.
func appendBinary(dst []byte, c Column, v any) ([]byte, error) {
	switch c.Type {
	case TypeLongLong:
		n, err := integer(c, v)
		return binary.LittleEndian.AppendUint64(dst, uint64(n)), err
	case TypeDouble:
		f, ok := v.(float64)
		if !ok {
			n, err := integer(c, v)
			if err != nil {
				return dst, err
			}
			f = float64(n)
		}

		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f)), nil
	case TypeDate, TypeDatetime:
		t, ok := v.(time.Time)
		if !ok {
			return dst, fmt.Errorf("column %s: %T is not a time", c.Name, v)
		}
		return appendBinaryTime(dst, t), nil
	case TypeString, TypeBlob:
	}
	return appendText(dst, c, v)
}

func integer(c Column, v any) (int64, error) {
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case int64:
		return v, nil
	case uint64:
		return int64(v), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	}
	return 0, fmt.Errorf("column %s: %T is not an integer", c.Name, v)
}

// appendTime writes a time as it is, whatever its zone: which zone to show is the caller's choice.
func appendTime(dst []byte, t time.Time, c Column) []byte {
	if c.Type == TypeDate {
		return t.AppendFormat(dst, time.DateOnly)
	}
	const layout = "2006-01-02 15:04:05.000000"
	if c.Decimals == 0 {
		return t.AppendFormat(dst, time.DateTime)
	}
	return t.AppendFormat(dst, layout[:len(time.DateTime)+1+min(int(c.Decimals), 6)])
}

// appendBinaryTime writes the longest form, which every client reads.
func appendBinaryTime(dst []byte, t time.Time) []byte {
	dst = append(dst, 11)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(t.Year()))
	dst = append(dst, byte(t.Month()), byte(t.Day()), byte(t.Hour()), byte(t.Minute()), byte(t.Second()))
	return binary.LittleEndian.AppendUint32(dst, uint32(t.Nanosecond()/1000))
}
