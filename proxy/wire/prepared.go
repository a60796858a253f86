package wire

import "encoding/binary"

// preparedSize is the size of the first packet of the answer to PREPARE,
// without the byte that OptionalMetadata adds.
const preparedSize = 12

// maxColumns bounds the counts we believe in; both servers allow 4096 columns.
const maxColumns = 1 << 16

// LastStatement is the statement id that means "the one prepared last", for clients that do not wait to learn it.
const LastStatement uint32 = 0xFFFFFFFF

// PreparedID reads the id of the statement from the first packet of the answer to PREPARE.
func PreparedID(payload []byte) (id uint32, ok bool) {
	if len(payload) < preparedSize || payload[0] != headerOK {
		return 0, false
	}
	return binary.LittleEndian.Uint32(payload[1:]), true
}

// StatementID reads the id from a command on a prepared statement; payload begins with the command.
func StatementID(payload []byte) (id uint32, ok bool) {
	if len(payload) < 5 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(payload[1:]), true
}

// decidePrepared takes the counts: the parameters' definitions come first, then the columns'.
func (t *Tracker) decidePrepared() {
	if t.head[0] != headerOK || t.nhead < preparedSize {
		t.opaque = true
		return
	}
	t.columns = uint64(binary.LittleEndian.Uint16(t.head[5:]))
	t.definitions = uint64(binary.LittleEndian.Uint16(t.head[7:]))
	if t.Capabilities.Has(OptionalMetadata) && t.nhead > preparedSize && t.head[preparedSize] == 0 {
		t.columns, t.definitions = 0, 0
	}
	if t.definitions == 0 {
		t.endOfParameters()
		return
	}
	t.phase = parameters
}

// endOfParameters goes on with the columns, or ends the response if there are none.
func (t *Tracker) endOfParameters() {
	if t.columns == 0 {
		t.ended = true
		return
	}
	t.definitions, t.phase = t.columns, preparedColumns
}
