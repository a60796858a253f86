package wire

// QueryText finds the SQL in the payload of a COM_QUERY or COM_STMT_PREPARE, which begins with the
// command. MySQL's query attributes come before the text of a COM_QUERY; ok is false if they cannot
// be read.
func QueryText(payload []byte, caps Capability) (offset int, ok bool) {
	if len(payload) == 0 {
		return 0, false
	}
	if Command(payload[0]) != Query || !caps.Has(QueryAttributes) {
		return 1, true
	}

	at := 1
	count, n := Int(payload[at:])
	if n == 0 {
		return 0, false
	}

	at += n
	_, n = Int(payload[at:]) // the number of sets of values, always one
	if n == 0 {
		return 0, false
	}

	at += n
	if count == 0 {
		return at, true
	}

	return skipAttributes(payload, at, count)
}

// skipAttributes steps over the bitmap of NULLs, types and names, and the values.
func skipAttributes(payload []byte, at int, count uint64) (int, bool) {
	if count > maxColumns {
		return 0, false
	}

	nulls := at
	at += int(count+7) / 8
	if at >= len(payload) || payload[at] != 1 { // types and names are always sent
		return 0, false
	}

	at++
	types := make([]byte, 0, 16)
	for range count {
		if at+2 > len(payload) {
			return 0, false
		}

		types = append(types, payload[at])
		at += 2
		_, n, ok := String(payload[at:])
		if !ok {
			return 0, false
		}

		at += n
	}

	for i, kind := range types {
		if payload[nulls+i/8]&(1<<(i%8)) != 0 {
			continue
		}

		n, ok := binarySize(kind, payload[at:])
		if !ok {
			return 0, false
		}

		at += n
	}

	return at, at <= len(payload)
}

// binarySize is the size of one value of the binary protocol at the beginning of b.
func binarySize(kind byte, b []byte) (int, bool) {
	size := 0
	switch kind {
	case 0x06: // NULL
	case 0x01: // TINY
		size = 1
	case 0x02, 0x0D: // SHORT, YEAR
		size = 2
	case 0x03, 0x04, 0x09: // LONG, FLOAT, INT24
		size = 4
	case 0x05, 0x08: // DOUBLE, LONGLONG
		size = 8
	case 0x07, 0x0A, 0x0B, 0x0C: // TIMESTAMP, DATE, TIME, DATETIME: one byte of length
		if len(b) == 0 {
			return 0, false
		}
		size = 1 + int(b[0])
	default:
		_, n, ok := String(b)
		return n, ok
	}

	return size, size <= len(b)
}

// ExecuteHead is the size of an EXECUTE up to its flags, behind the command and the statement.
const ExecuteHead = 6

// AsksForCursor reports whether an EXECUTE wants its rows to wait in a cursor.
func AsksForCursor(payload []byte) bool {
	return len(payload) >= ExecuteHead && payload[ExecuteHead-1] != 0
}
