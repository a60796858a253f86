package wire

import (
	"encoding/binary"
	"slices"
)

// IsEOF reports whether a packet of a result is an EOF: after the definitions, or after the rows.
func IsEOF(payload []byte) bool { return len(payload) == eofSize && payload[0] == headerEOF }

// PromiseMore sets, in place, the flag that says that more results follow, in an EOF or in the last
// packet of a result. Servers also set it after the definitions, and some clients read it there.
func PromiseMore(payload []byte) []byte {
	at := endStatus(payload)
	if at >= 0 {
		payload[at] |= byte(MoreResults)
	}
	return payload
}

// endStatus is the offset of the status in an OK or EOF; -1 if the packet is neither.
func endStatus(payload []byte) int {
	if len(payload) == 0 || (payload[0] != headerOK && payload[0] != headerEOF) {
		return -1
	}
	if len(payload) == eofSize && payload[0] == headerEOF {
		return 3
	}

	at := 1
	for range 2 {
		_, n := Int(payload[min(at, len(payload)):])
		if n == 0 {
			return -1
		}
		at += n
	}

	if at+4 > len(payload) {
		return -1
	}

	return at
}

// ChangeOK returns an OK with other counts, warnings or text, and with the session's changes that
// the server added.
func ChangeOK(payload []byte, caps Capability, change func(*OK)) []byte {
	var o OK
	if len(payload) == 0 || payload[0] != headerOK || o.Decode(payload) != nil {
		return payload
	}

	tracked := trackedState(payload, o, caps)
	status := o.Status
	change(&o)
	out := o.Append(nil)

	if tracked == nil {
		return out
	}
	if o.Info == "" {
		out = AppendString(out, "") // the block comes after the text
	}

	at := endStatus(out)
	binary.LittleEndian.PutUint16(out[at:], uint16(status))
	return append(out, tracked...)
}

// trackedState is the block about the session's changes at the end of an OK, with its length.
func trackedState(payload []byte, o OK, caps Capability) []byte {
	if !caps.Has(SessionTrack) || !o.Status.Has(SessionStateChanged) {
		return nil
	}
	rest := payload[endStatus(payload)+4:]
	_, n, ok := String(rest)
	if !ok {
		return nil
	}
	return rest[n:]
}

// ChangeRows returns a complete result set of strings with other values in its rows.
func ChangeRows(packets []byte, form Form, caps Capability, change func(row [][]byte) [][]byte) ([]byte, error) {
	d := resultDecoder{rest: packets, form: form, caps: caps}
	columns, err := d.header()
	if err != nil {
		return nil, err
	}

	out := append([]byte(nil), packets[:len(packets)-len(d.rest)]...)
	for {
		payload, err := d.next()
		if err != nil {
			return nil, err
		}
		if isEnd(payload) {
			out, _ = AppendPacket(out, 0, payload)
			return out, nil
		}

		row, err := d.row(payload, len(columns))
		if err != nil {
			return nil, err
		}

		out, _ = AppendPacket(out, 0, appendRow(nil, form, change(row)))
	}
}

// appendRow appends a row of strings.
func appendRow(dst []byte, form Form, row [][]byte) []byte {
	nulls := 0
	if form == BinaryRows {
		dst = append(dst, 0)
		nulls = len(dst)
		dst = append(dst, make([]byte, nullBitmapSize(len(row)))...)
	}

	for i, v := range row {
		switch {
		case v != nil:
			dst = AppendString(dst, v)
		case form == BinaryRows:
			dst[nulls+(i+2)/8] |= 1 << ((i + 2) % 8)
		default:
			dst = append(dst, lenencNull)
		}
	}

	return dst
}

// InsertRows returns a complete result set of text with more rows, as packets, in front of its end.
func InsertRows(packets []byte, caps Capability, rows []byte) ([]byte, error) {
	d := resultDecoder{rest: packets, form: TextRows, caps: caps}
	if _, err := d.header(); err != nil {
		return nil, err
	}

	for {
		rest := d.rest
		payload, err := d.next()
		if err != nil {
			return nil, err
		}
		if isEnd(payload) {
			return slices.Concat(packets[:len(packets)-len(rest)], rows, rest), nil
		}
	}
}

// AppendNull appends a value of a row of text that is NULL.
func AppendNull(dst []byte) []byte { return append(dst, lenencNull) }
