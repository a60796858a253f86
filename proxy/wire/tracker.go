package wire

// headSize is how much of a packet's beginning can decide: the longest is an OK up to its status,
// which is one byte, two length-encoded integers and two bytes.
const headSize = 1 + 9 + 9 + 2

// Tracker reads the server's side of a session and finds where the responses end. Begin tells it
// each command before the server can answer; Scan is given every byte that the server sends.
//
//	            ┌─────────────── more results ────────────────┐
//	            ▼                                             │
//	Begin ─► first ─► definitions ─► definitionsEnd ─► rows ──┴─► end of the response
//	            ├─ OK ────────────────────────────────────────┘
//	            ├─ ERR: the end, whatever was still to come
//	            └─ file wanted ─► first, when the client has sent it
//
// (PREPARE, FETCH, CHANGE_USER and the commands with one packet for an answer have shorter ways;
// response.go has them all.)
//
// Whatever it does not understand makes the tracker opaque: from then on it lets everything pass
// and reports nothing. It allocates only while more than eight commands are outstanding. The zero
// value needs only Capabilities.
type Tracker struct {
	// Capabilities are those in effect on the connection.
	Capabilities Capability

	queue queue
	tail  bool // a command without an answer was begun behind the last that is outstanding
	phase phase
	loss  Loss
	file  bool
	// the number of the first packet of the file that is wanted
	fileNext byte
	status   Status
	code     uint16

	statement uint32 // the id of the statement that is being prepared

	definitions uint64 // how many are still to come in this phase
	columns     uint64 // of a prepared statement: their definitions come after the parameters'
	bare        bool   // the answer to PREPARE has no definitions

	header    [HeaderSize]byte
	head      [headSize]byte
	nheader   int  // bytes of header that are there
	nhead     int  // bytes of head that are there
	wanted    int  // bytes of head that decide
	length    int  // of the payload
	left      int  // bytes of payload still to come
	continues bool // the last packet was full, so this one belongs to it
	decided   bool // the head was looked at
	ended     bool // this packet is the last of its response
	statusAt  int  // where in the payload the status is that may promise more results; -1 if there is none
}

// Begin says that a command is about to be sent. started comes back in the report.
func (t *Tracker) Begin(c Command, started int64) { t.begin(outstanding{command: c, started: started}) }

// BeginCursor is Begin for an EXECUTE that asks for a cursor.
func (t *Tracker) BeginCursor(started int64) {
	t.begin(outstanding{command: Execute, started: started, cursor: true})
}

func (t *Tracker) begin(o outstanding) {
	kind := answerOf(o.command)
	t.tail = kind == answerNone
	if t.tail || t.Opaque() {
		return
	}

	t.queue.push(o)
	switch {
	case kind == answerEndless:
		t.loss = LostInStream
	case kind == answerUnknown:
		t.loss = LostByCommand
	case t.phase == idle:
		t.next()
	}
}

// Idle reports whether every response has ended, so that a packet of ours would not land inside
// one.
func (t *Tracker) Idle() bool { return t.phase == idle && t.nheader == 0 && t.loss == NotLost }

// Outstanding is how many commands the server has still to answer.
func (t *Tracker) Outstanding() int { return t.queue.len() }

// AtLast reports whether the command that is being answered is the last that was begun.
func (t *Tracker) AtLast() bool { return t.queue.len() == 1 && !t.tail }

// GiveUp makes the tracker opaque.
func (t *Tracker) GiveUp(why Loss) { t.loss = why }

// Opaque reports whether the tracker has lost its way, or the session has become a stream of
// another kind.
func (t *Tracker) Opaque() bool { return t.loss != NotLost }

// FileWanted reports whether the server waits for the client to send a file.
func (t *Tracker) FileWanted() bool { return t.file }

// FileNext is the number of the first packet of the file that is wanted.
func (t *Tracker) FileNext() byte { return t.fileNext }

// FileSent says that the client has sent its file, so that the next request is for another one.
func (t *Tracker) FileSent() { t.file = false }

// SetStatus says what the server said about the session when the client logged in.
func (t *Tracker) SetStatus(s Status) { t.status = s }

// Status is the session's status as the server said last.
func (t *Tracker) Status() Status { return t.status }

// Scan reads from b to the end of the first response in it. It returns how many bytes it read; if
// no response ended, that is all of b.
func (t *Tracker) Scan(b []byte) (n int, r Report, ended bool) {
	for t.loss == NotLost {
		switch {
		case t.nheader < HeaderSize:
			if n == len(b) {
				return n, Report{}, false
			}
			n += t.readHeader(b[n:])
		case !t.decided && t.nhead < t.wanted:
			if n == len(b) {
				return n, Report{}, false
			}
			n += t.readHead(b[n:])
		case !t.decided:
			t.decide()
		case t.left > 0:
			if n == len(b) {
				return n, Report{}, false
			}
			skipped := min(t.left, len(b)-n)
			t.left -= skipped
			n += skipped
		default:
			if t.finishPacket() {
				return n, t.finishResponse(), true
			}
		}
	}
	return len(b), Report{}, false
}

// readHeader takes what is missing of the header and prepares for the payload.
func (t *Tracker) readHeader(b []byte) int {
	n := copy(t.header[t.nheader:], b)
	if t.nheader += n; t.nheader < HeaderSize {
		return n
	}
	t.length, _ = Header(t.header[:])
	t.left = t.length
	t.nhead = 0
	t.statusAt = -1
	t.decided = t.continues // only the first packet of a run says what it is
	t.wanted = min(t.length, looksAt[t.phase])
	return n
}

func (t *Tracker) readHead(b []byte) int {
	n := copy(t.head[t.nhead:t.wanted], b)
	t.nhead += n
	t.left -= n
	return n
}

// want asks for more of the head, and reports whether it is already there.
func (t *Tracker) want(n int) bool {
	t.wanted = min(t.length, n)
	return t.nhead >= t.wanted
}

// finishPacket reports whether the packet that has just been read ends its response.
func (t *Tracker) finishPacket() bool {
	t.nheader = 0
	t.continues = t.length == MaxPayload
	return t.ended && !t.continues
}

func (t *Tracker) finishResponse() Report {
	o := t.queue.pop()
	r := Report{Command: o.command, Code: t.code, Status: t.status, Started: o.started, Statement: t.statement}
	t.ended, t.code, t.statement = false, 0, 0
	t.next()
	return r
}

// next starts on the response to the oldest outstanding command, if there is one.
func (t *Tracker) next() {
	t.phase = idle
	if t.queue.len() > 0 {
		t.phase = firstPhase[answerOf(t.queue.front().command)]
	}
}
