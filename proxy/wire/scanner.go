package wire

// Start is the beginning of a command, found by the scanner.
type Start struct {
	Command Command
	Size    int // of the first physical packet's payload, the command included; MaxPayload if more packets follow
}

// Scanner reads the client's side of a session, once it is logged in, and finds where commands
// start. It need not look at the other side:
//
//	seq 0 ──────────────► a command, unless it continues a full packet
//	seq ≠ 0 ─► run ─────► what the server asked for in the middle of a command: a file, or a password
//	           seq + 1 ─► the run goes on, also when the number has wrapped to 0 and the bytes look like a command
//	           empty ───► the file ends, and with it the run
//	           seq 0 ───► out of turn: a command
//	           else ────► another run: at a login, the server's packets take numbers in between
//
// Only what the server asks for with its packet 255 begins with number 0, too: whoever reads the
// other side says so by File.
//
// The wrap matters. Every 256th packet of a file carries the number 0, and somebody else may have
// written the file. The zero value is ready.
type Scanner struct {
	header    [HeaderSize]byte
	nheader   int
	left      int  // bytes of payload still to come
	full      bool // this packet is full
	continues bool // the last packet was full, so this one belongs to it
	starting  bool // the next byte is a command
	run       bool // inside a run
	ended     bool // a run has ended that RunEnded has not reported yet
	next      byte // the sequence number with which the run goes on
}

// Undecided is how many of the bytes scanned last may belong to a command whose start has not been
// reported yet. Whoever wants to hold commands back must hold these.
func (s *Scanner) Undecided() int {
	if s.starting {
		return HeaderSize
	}
	if s.nheader < HeaderSize {
		return s.nheader
	}
	return 0
}

// Between reports whether the scanner stands between two packets.
func (s *Scanner) Between() bool { return s.nheader == 0 && !s.continues }

// InRun reports whether the scanner is inside a run. That of a login has no end that could be seen
// here.
func (s *Scanner) InRun() bool { return s.run }

// EndRun ends the run, of which the server has said that it is over.
func (s *Scanner) EndRun() { s.run = false }

// File says that the command whose start was reported last is none: a run begins with its packet.
func (s *Scanner) File(c Start) {
	s.run, s.next, s.ended = c.Size > 0, 1, c.Size == 0
}

// RunEnded reports whether a run has ended, with an empty packet, since the last call: a file is
// complete.
func (s *Scanner) RunEnded() bool {
	ended := s.ended
	s.ended = false
	return ended
}

// Scan reads from b to the first byte of a command, or all of b if none starts in it. If it found
// one, the last byte read was the command's, or the last of the header if the packet is empty.
func (s *Scanner) Scan(b []byte) (n int, c Start, found bool) {
	for {
		switch {
		case s.nheader < HeaderSize:
			if n == len(b) {
				return n, Start{}, false
			}

			n += s.readHeader(b[n:])
			if s.starting && s.left == 0 {
				s.starting, s.nheader = false, 0
				return n, Start{}, true
			}
		case s.starting:
			if n == len(b) {
				return n, Start{}, false
			}

			c = Start{Command: Command(b[n]), Size: s.left}
			s.starting = false
			s.left--
			n++
			s.finishPacket()

			return n, c, true
		case s.left > 0:
			if n == len(b) {
				return n, Start{}, false
			}
			skipped := min(s.left, len(b)-n)
			s.left -= skipped
			n += skipped
			s.finishPacket()
		default:
			s.finishPacket()
		}
	}
}

// readHeader takes what is missing of the header and says what the packet is.
func (s *Scanner) readHeader(b []byte) int {
	n := copy(s.header[s.nheader:], b)
	if s.nheader += n; s.nheader < HeaderSize {
		return n
	}

	length, seq := Header(s.header[:])
	s.left = length
	s.full = length == MaxPayload
	switch {
	case s.continues:
		if s.run {
			s.next = seq + 1
		}
	case s.run && seq == s.next:
		s.next++
		s.run, s.ended = length > 0, length == 0
	case seq == 0:
		s.run, s.starting = false, true
	default:
		s.run, s.next, s.ended = length > 0, seq+1, length == 0
	}

	return n
}

// finishPacket goes on to the next header when the payload has passed.
func (s *Scanner) finishPacket() {
	if s.left == 0 && s.nheader == HeaderSize {
		s.nheader = 0
		s.continues = s.full
	}
}
