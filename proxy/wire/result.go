package wire

import "errors"

// Result is a decoded answer of the server: one result set, or an OK.
type Result struct {
	Columns []Column
	Rows    [][][]byte // nil is NULL
	OK      OK         // what ended it
}

// errNotResult means that an answer is not of the expected kind.
var errNotResult = errors.New("not one complete result of text")

// DecodeResult reads a complete answer, as packets, to a command of ours. An ERR is returned as
// *Error. Binary rows are read as long as all columns are strings.
func DecodeResult(packets []byte, form Form, caps Capability) (*Result, error) {
	d := resultDecoder{rest: packets, form: form, caps: caps}
	return d.result()
}

type resultDecoder struct {
	rest []byte
	form Form
	caps Capability
}

func (d *resultDecoder) next() ([]byte, error) {
	payload, rest, err := NextPacket(d.rest)
	if err != nil {
		return nil, err
	}

	d.rest = rest
	if len(payload) == 0 {
		return nil, errNotResult
	}

	if payload[0] == headerErr {
		e := new(Error)
		if err := e.Decode(payload); err != nil {
			return nil, err
		}
		return nil, e
	}

	return payload, nil
}

func (d *resultDecoder) result() (*Result, error) {
	var r Result
	if first, _, err := NextPacket(d.rest); err == nil && len(first) > 0 && first[0] == headerOK {
		return &r, r.OK.Decode(first)
	}
	var err error
	if r.Columns, err = d.header(); err != nil {
		return nil, err
	}
	return &r, d.rows(&r)
}

// header reads everything in front of the rows. Columns that MariaDB has already described to the
// client stay blank.
func (d *resultDecoder) header() ([]Column, error) {
	payload, err := d.next()
	if err != nil {
		return nil, err
	}

	count, follow, ok := columnCount(payload, d.caps)
	if !ok {
		return nil, errNotResult
	}

	columns := make([]Column, count)
	for i := range columns {
		if !follow {
			break
		}
		if payload, err = d.next(); err != nil {
			return nil, err
		}
		if err := columns[i].Decode(payload, d.caps); err != nil {
			return nil, err
		}
	}

	if !d.caps.Has(DeprecateEOF) {
		_, err = d.next()
	}

	return columns, err
}

func (d *resultDecoder) rows(r *Result) error {
	for {
		payload, err := d.next()
		if err != nil {
			return err
		}
		if isEnd(payload) {
			return d.end(r, payload)
		}

		row, err := d.row(payload, len(r.Columns))
		if err != nil {
			return err
		}

		r.Rows = append(r.Rows, row)
	}
}

// isEnd reports whether a packet at the place of a row ends the rows.
func isEnd(payload []byte) bool { return payload[0] == headerEOF && len(payload) < MaxPayload }

func (d *resultDecoder) end(r *Result, payload []byte) error {
	if len(payload) != eofSize {
		return r.OK.Decode(payload)
	}
	r.OK.Warnings = uint16(payload[1]) | uint16(payload[2])<<8
	r.OK.Status = Status(payload[3]) | Status(payload[4])<<8
	return nil
}

func (d *resultDecoder) row(b []byte, columns int) ([][]byte, error) {
	row := make([][]byte, columns)
	var nulls []byte
	if d.form == BinaryRows {
		n := 1 + nullBitmapSize(columns)
		if len(b) < n {
			return nil, errShort
		}
		nulls, b = b[1:n], b[n:]
	}

	for i := range row {
		switch {
		case nulls != nil && nulls[(i+2)/8]&(1<<((i+2)%8)) != 0:
			continue
		case nulls == nil && len(b) > 0 && b[0] == lenencNull:
			b = b[1:]
			continue
		}

		s, n, ok := String(b)
		if !ok {
			return nil, errShort
		}

		row[i], b = s, b[n:]
	}

	return row, nil
}
