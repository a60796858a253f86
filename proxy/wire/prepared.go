package wire

import "encoding/binary"

// preparedSize is the size of the first packet of the answer to PREPARE,
// without the byte that OptionalMetadata adds.
const preparedSize = 12

// maxColumns bounds the counts that we believe; both servers allow 4096 columns.
const maxColumns = 1 << 16

// LastStatement is the statement id that means "the one prepared last", for clients that do not
// wait to learn it.
const LastStatement uint32 = 0xFFFFFFFF

// PreparedID reads the id of the statement from the first packet of the answer to PREPARE.
func PreparedID(payload []byte) (id uint32, ok bool) {
	if len(payload) < preparedSize || payload[0] != headerOK {
		return 0, false
	}
	return binary.LittleEndian.Uint32(payload[1:]), true
}

// Prepared is what the first packet of the answer to PREPARE says of a statement.
type Prepared struct {
	ID         uint32
	Parameters int
	Warnings   uint16
}

// DecodePrepared reads the first packet of the answer to PREPARE.
func DecodePrepared(payload []byte) (p Prepared, ok bool) {
	id, ok := PreparedID(payload)
	if !ok {
		return p, false
	}
	parameters, warnings := payload[7:], payload[10:]
	return Prepared{
		ID: id, Parameters: int(binary.LittleEndian.Uint16(parameters)),
		Warnings: binary.LittleEndian.Uint16(warnings),
	}, true
}

// StatementID reads the id from a command on a prepared statement; payload begins with the command.
func StatementID(payload []byte) (id uint32, ok bool) {
	if len(payload) < 5 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(payload[1:]), true
}

// decidePrepared takes the counts: the parameters' definitions come first, then the columns'. MySQL
// leaves them out for a client that does not want them, but not the EOFs after them.
func (t *Tracker) decidePrepared() {
	if t.head[0] != headerOK || t.nhead < preparedSize {
		t.loss = LostInAnswer
		return
	}

	t.statement = binary.LittleEndian.Uint32(t.head[1:])
	t.columns = uint64(binary.LittleEndian.Uint16(t.head[5:]))
	t.definitions = uint64(binary.LittleEndian.Uint16(t.head[7:]))
	t.bare = t.Capabilities.Has(OptionalMetadata) && t.nhead > preparedSize && t.head[preparedSize] == 0

	switch {
	case t.definitions == 0:
		t.endOfParameters()
	case t.bare:
		t.endOfDefinitions(parametersEnd)
	default:
		t.phase = parameters
	}
}

// endOfParameters goes on with the columns, or ends the response if there are none.
func (t *Tracker) endOfParameters() {
	switch {
	case t.columns == 0:
		t.ended = true
	case t.bare:
		t.endOfDefinitions(preparedColumnsEnd)
	default:
		t.definitions, t.phase = t.columns, preparedColumns
	}
}

// endOfDefinitions waits for the EOF behind definitions, if there is one.
func (t *Tracker) endOfDefinitions(eof phase) {
	switch {
	case !t.Capabilities.Has(DeprecateEOF):
		t.phase = eof
	case eof == parametersEnd:
		t.endOfParameters()
	case eof == preparedColumnsEnd:
		t.ended = true
	default:
		t.phase = rows
	}
}
