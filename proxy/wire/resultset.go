package wire

import "fmt"

// ResultSet is a small, complete answer of ours.
type ResultSet struct {
	Columns []Column
	Rows    [][]any // each as long as Columns; nil is NULL
}

// Form is how rows are written.
type Form bool

// The two forms: what a COM_QUERY and what a COM_STMT_EXECUTE is answered with.
const (
	TextRows   Form = false
	BinaryRows Form = true
)

// Append appends the whole result set as packets, the first with sequence number seq, and returns
// the number which comes next. The differences that caps make are all here: the byte that says that
// the definitions follow, the EOF behind the definitions, and the packet at the end, which carries
// status and warnings.
func (r *ResultSet) Append(dst []byte, seq byte, form Form, caps Capability, end OK) ([]byte, byte, error) {
	var payload []byte
	payload = AppendInt(payload, uint64(len(r.Columns)))
	if caps&(OptionalMetadata|CacheMetadata) != 0 {
		payload = append(payload, 1)
	}

	dst, seq = AppendPacket(dst, seq, payload)
	for _, c := range r.Columns {
		payload = c.Append(payload[:0], caps)
		dst, seq = AppendPacket(dst, seq, payload)
	}

	if !caps.Has(DeprecateEOF) {
		payload = appendEOF(payload[:0], end.Status, end.Warnings)
		dst, seq = AppendPacket(dst, seq, payload)
	}

	for i, row := range r.Rows {
		var err error
		if payload, err = r.appendRow(payload[:0], form, row); err != nil {
			return dst, seq, fmt.Errorf("row %d: %w", i, err)
		}
		dst, seq = AppendPacket(dst, seq, payload)
	}

	payload = appendEnd(payload[:0], end, caps)
	dst, seq = AppendPacket(dst, seq, payload)
	return dst, seq, nil
}

func (r *ResultSet) appendRow(dst []byte, form Form, row []any) ([]byte, error) {
	if len(row) != len(r.Columns) {
		return dst, fmt.Errorf("%d values for %d columns", len(row), len(r.Columns))
	}
	if form == BinaryRows {
		return r.appendBinaryRow(dst, row)
	}

	var err error
	for i, v := range row {
		if dst, err = appendText(dst, r.Columns[i], v); err != nil {
			return dst, err
		}
	}

	return dst, nil
}

// appendBinaryRow writes a zero, a bitmap of the NULLs that leaves two bits free in front, and the
// values.
func (r *ResultSet) appendBinaryRow(dst []byte, row []any) ([]byte, error) {
	dst = append(dst, 0)
	nulls := len(dst)
	dst = append(dst, make([]byte, nullBitmapSize(len(row)))...)
	var err error

	for i, v := range row {
		if v == nil {
			dst[nulls+(i+2)/8] |= 1 << ((i + 2) % 8)
			continue
		}
		if dst, err = appendBinary(dst, r.Columns[i], v); err != nil {
			return dst, err
		}
	}

	return dst, nil
}

// nullBitmapSize is the size of the bitmap in a binary row of so many columns.
func nullBitmapSize(columns int) int { return (columns + 2 + 7) / 8 }
