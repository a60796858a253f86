package wire

// Splice lets an answer of the server become a part of a longer answer. The results of one
// multi-statement packet are numbered consecutively and each but the last promises another; if its
// parts were sent to the server one by one, the numbers have to be shifted and the promise
// inserted.
//
// It feeds the tracker itself: bytes that pass through a Splice must not be given to the tracker
// again.
type Splice struct {
	Tracker *Tracker
	Shift   byte // added to each sequence number
	More    bool // more results follow, though the server does not know it

	held []byte // the beginning of a packet: its header and its head
	left int    // bytes of its payload that are not held
	last byte   // the sequence number sent last
	runs bool   // the last packet was full
}

// Last is the sequence number of the last packet that passed, as the client sees it.
func (s *Splice) Last() byte { return s.last }

// Append appends what of b can be sent on, changed where it must be, and calls ended with each
// report of the tracker.
func (s *Splice) Append(dst, b []byte, ended func(Report)) []byte {
	for len(b) > 0 {
		if s.left > 0 && len(s.held) == 0 {
			n := min(s.left, len(b))
			s.track(b[:n], ended)
			dst = append(dst, b[:n]...)
			b = b[n:]
			s.left -= n
			continue
		}

		n := min(s.missing(), len(b))
		s.held = append(s.held, b[:n]...)
		b = b[n:]
		if s.missing() == 0 {
			dst = s.release(dst, ended)
		}
	}
	return dst
}

// missing is how many bytes it takes to decide about the packet that is held.
func (s *Splice) missing() int {
	if len(s.held) < HeaderSize {
		return HeaderSize - len(s.held)
	}
	length, _ := Header(s.held)
	return HeaderSize + min(length, headSize) - len(s.held)
}

func (s *Splice) release(dst []byte, ended func(Report)) []byte {
	length, seq := Header(s.held)
	continuation := s.runs
	s.runs = length == MaxPayload
	s.left = length - (len(s.held) - HeaderSize)
	s.track(s.held, ended)
	s.last = seq + s.Shift

	s.held[HeaderSize-1] = s.last
	if at := s.Tracker.statusAt; s.More && !continuation && at >= 0 && !s.Tracker.Opaque() {
		s.held[HeaderSize+at] |= byte(MoreResults)
	}

	dst = append(dst, s.held...)
	s.held = s.held[:0]
	return dst
}

func (s *Splice) track(b []byte, ended func(Report)) {
	for len(b) > 0 {
		n, r, ok := s.Tracker.Scan(b)
		if b = b[n:]; ok {
			ended(r)
		}
	}
}
