package wire

import "encoding/binary"

// answer is the kind of response that a command gets.
type answer uint8

const (
	answerUnknown  answer = iota // we do not know the command
	answerNone                   // nothing at all
	answerResults                // OK, ERR, a file, or result sets, as many as there are
	answerPrepared               // a statement's id, and the definitions of its parameters and columns
	answerRows                   // rows without a header
	answerOne                    // one packet
	answerLogin                  // questions, then OK or ERR
	answerEndless                // a stream that may never end: we stay out of it for good
)

func answerOf(c Command) answer {
	switch c {
	case Query, ProcessInfo, Execute, BulkExecute:
		return answerResults
	case Prepare:
		return answerPrepared
	case Fetch, FieldList:
		return answerRows // a definition that FieldList lists looks like a row
	case Quit, SendLongData, CloseStatement:
		return answerNone
	case ChangeUser:
		return answerLogin
	case BinlogDump, BinlogDumpGTID:
		return answerEndless
	case Sleep, InitDB, CreateDB, DropDB, Refresh, Shutdown, Statistics, ProcessKill, Debug, Ping,
		RegisterReplica, ResetStatement, SetOption, ResetConnection:
		return answerOne
	}
	return answerUnknown
}

// IsAnswered reports whether the server says anything to a command.
func (c Command) IsAnswered() bool { return answerOf(c) != answerNone }

// phase is what the next packet of the server is.
type phase uint8

const (
	idle               phase = iota // nothing: no command is outstanding
	first                           // the first packet of a result
	definitions                     // the definition of a column
	definitionsEnd                  // the EOF behind the definitions
	rows                            // a row, or what ends the rows
	single                          // the only packet of the response
	prepared                        // the first packet of the answer to PREPARE
	parameters                      // the definition of a parameter
	parametersEnd                   // the EOF behind them
	preparedColumns                 // the definition of a column of a prepared statement
	preparedColumnsEnd              // the EOF behind them
	login                           // a question, or what ends the questions
	phases
)

var firstPhase = [...]phase{
	answerResults: first, answerPrepared: prepared, answerRows: rows, answerOne: single, answerLogin: login,
}

// looksAt is how much of the packet's beginning a phase needs at first.
var looksAt = [phases]int{
	idle:  1,
	first: headSize, definitions: 1, definitionsEnd: eofSize, rows: 1, single: headSize, prepared: preparedSize + 1,
	parameters: 1, parametersEnd: eofSize, preparedColumns: 1, preparedColumnsEnd: eofSize, login: headSize,
}

// decide reads the head of a packet: it sets the phase of the packet that follows, or ended.
func (t *Tracker) decide() {
	if t.phase == idle {
		t.decideUnasked()
		return
	}
	if t.nhead == 0 && t.phase != single && t.phase != login {
		t.loss = LostInAnswer // an empty packet where none can be
		return
	}
	if t.nhead > 0 && t.head[0] == headerErr && !t.plainText() {
		t.decideError()
		return
	}

	t.decided = true
	switch t.phase {
	case first:
		t.decideFirst()
	case definitions:
		t.definition(definitionsEnd)
	case definitionsEnd:
		t.decideDefinitionsEnd()
	case rows:
		t.decideRow()
	case single:
		t.decideSingle()
	case prepared:
		t.decidePrepared()
	case parameters:
		t.definition(parametersEnd)
	case parametersEnd:
		t.endOfParameters()
	case preparedColumns:
		t.definition(preparedColumnsEnd)
	case preparedColumnsEnd:
		t.ended = true
	case login:
		if t.nhead > 0 && t.head[0] == AuthOK {
			t.endResult(t.statusOfOK())
		}
	case idle, phases:
	}
}

// decideUnasked takes a packet that answers no command. Only a farewell may come so: the error with
// which a server ends a session, because of its silence or of somebody's KILL.
func (t *Tracker) decideUnasked() {
	t.decided = true
	if t.nhead == 0 || t.head[0] != headerErr {
		t.loss = LostUnasked
	}
}

// decideError takes an ERR, which ends a response wherever it comes, or a progress report of
// MariaDB, which looks like one and ends nothing. To a client that has not asked for reports the
// number is an error's: SIGNAL can set it.
func (t *Tracker) decideError() {
	if !t.want(3) {
		return
	}

	t.decided = true
	if t.nhead < 3 {
		t.loss = LostInAnswer
		return
	}

	code := binary.LittleEndian.Uint16(t.head[1:])
	if code == progressCode && t.Capabilities.Has(Progress) {
		return
	}

	t.code = code
	t.file = false
	t.ended = true
}

func (t *Tracker) decideFirst() {
	t.file = false
	switch t.head[0] {
	case headerOK:
		t.endResult(t.statusOfOK())
	case headerEOF:
		t.endResult(t.statusOfEnd())
	case headerFile:
		_, seq := Header(t.header[:])
		t.file, t.fileNext = true, seq+1
	default:
		t.decideHeader()
	}
}

// decideHeader takes the count of columns. A byte after it may say that the definitions do not
// follow; the EOF after them comes in any case.
func (t *Tracker) decideHeader() {
	count, follow, ok := columnCount(t.head[:t.nhead], t.Capabilities)
	switch {
	case !ok:
		t.loss = LostInAnswer
	case follow:
		t.definitions, t.phase = count, definitions
	default:
		t.endOfDefinitions(definitionsEnd)
	}
}

// columnCount reads the first packet of a result set. Both servers may add a byte after the count
// that says whether the definitions follow: MariaDB if the client already knows them, MySQL if it
// does not want them.
func columnCount(b []byte, caps Capability) (count uint64, follow, ok bool) {
	count, n := Int(b)
	if n == 0 || count == 0 || count > maxColumns {
		return 0, false, false
	}
	if caps&(OptionalMetadata|CacheMetadata) != 0 && len(b) > n {
		return count, b[n] != 0, true
	}
	return count, true, true
}

// definition counts one definition. After the last comes an EOF, unless it is deprecated.
func (t *Tracker) definition(eof phase) {
	if t.definitions--; t.definitions == 0 {
		t.endOfDefinitions(eof)
	}
}

// decideDefinitionsEnd takes the EOF behind the definitions, which ends the result of an EXECUTE if
// the rows wait in a cursor that it has asked for, and nothing follows. The flag alone means
// nothing: it also shows cursors inside stored programs, which an EXECUTE may call.
func (t *Tracker) decideDefinitionsEnd() {
	if t.head[0] != headerEOF || t.nhead < eofSize {
		t.loss = LostInAnswer
		return
	}
	t.phase = rows
	t.statusAt = 3
	status := Status(binary.LittleEndian.Uint16(t.head[3:]))
	if status.Has(CursorExists) && !status.Has(MoreResults) && t.queue.front().cursor {
		t.endResult(3)
	}
}

// decideRow takes a row, or the packet which ends the rows. A row begins with 0xFE only if its
// first value is so long that it fills the packet.
func (t *Tracker) decideRow() {
	if t.head[0] != headerEOF || t.length == MaxPayload {
		return
	}
	if t.length > eofSize && !t.Capabilities.Has(DeprecateEOF) {
		return
	}
	if !t.want(headSize) {
		t.decided = false
		return
	}
	t.endResult(t.statusOfEnd())
}

// plainText reports whether the response is one packet of text, whose first byte means nothing.
func (t *Tracker) plainText() bool {
	return t.phase == single && t.queue.front().command == Statistics
}

// decideSingle takes the only packet of a response.
func (t *Tracker) decideSingle() {
	t.ended = true
	if t.nhead == 0 || t.plainText() {
		return
	}
	switch t.head[0] {
	case headerOK:
		t.endResult(t.statusOfOK())
	case headerEOF:
		t.endResult(t.statusOfEnd())
	}
}

// endResult takes the status at an offset of the head: more results follow, or the response ends
// here. The flag that promises more is only believed where there can be more.
func (t *Tracker) endResult(at int) {
	if at < 0 {
		t.loss = LostInAnswer
		return
	}
	t.statusAt = at
	t.status = Status(binary.LittleEndian.Uint16(t.head[at:]))
	t.phase = first
	t.ended = !t.status.Has(MoreResults) || answerOf(t.queue.front().command) != answerResults
}

// statusOfOK is the offset of the status in an OK, -1 if it is not there.
func (t *Tracker) statusOfOK() int {
	at := 1
	for range 2 {
		if at >= t.nhead {
			return -1
		}

		n := intSize(t.head[at])
		if n == 0 {
			return -1
		}

		at += n
	}

	if at+2 > t.nhead {
		return -1
	}

	return at
}

// statusOfEnd is the offset of the status in an EOF, or in the OK that stands for it.
func (t *Tracker) statusOfEnd() int {
	if t.length == eofSize {
		return 3
	}
	return t.statusOfOK()
}
