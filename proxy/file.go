package proxy

import "github.com/ttlproxy/ttlproxy/proxy/wire"

// sendFile carries the file that the server wants from the client to the server, packet by packet
// up to the empty one. The client's numbers are shift ahead of the server's.
func (s *session) sendFile(shift byte) error {
	in := s.fromClient
	continues := false
	for {
		if _, err := s.gather(0, wire.HeaderSize); err != nil {
			return err
		}

		length, seq := wire.Header(in.pending())
		s.scan(wire.HeaderSize)
		in.pending()[wire.HeaderSize-1] = seq - shift

		last := length == 0 && !continues
		if last {
			s.forgetFile()
		}
		if err := s.flush(wire.HeaderSize); err != nil {
			return err
		}
		if err := s.sendPayload(length); err != nil {
			return err
		}
		if last {
			return nil
		}

		continues = length == wire.MaxPayload
	}
}

// sendPayload carries so many bytes from the client to the server.
func (s *session) sendPayload(left int) error {
	for left > 0 {
		if _, err := s.gather(0, 1); err != nil {
			return err
		}
		n := min(left, len(s.fromClient.pending()))
		s.scan(n)
		if err := s.flush(n); err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// scan gives the scanner n bytes in which no command can start, though some may look so.
func (s *session) scan(n int) {
	for b := s.fromClient.pending()[:n]; len(b) > 0; {
		n, _, _ := s.scanner.Scan(b)
		b = b[n:]
	}
}

// refuseFile sends an empty file: the server asked in the middle of something that the client does
// not know about.
func (s *session) refuseFile() error {
	s.forgetFile()
	return s.write(s.backend, wire.AppendHeader(nil, 0, 2))
}

// forgetFile is called just before the end of the file is sent, so that the next request is a new
// one.
func (s *session) forgetFile() {
	s.mu.Lock()
	s.tracker.FileSent()
	s.fileAtZero.Store(false)
	s.mu.Unlock()
}
