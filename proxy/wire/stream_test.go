package wire

import (
	"bytes"
	"encoding/binary"
)

// stream builds one direction of a session, packet by packet.
type stream struct {
	bytes.Buffer
	seq byte
}

// at sets the sequence number of the next packet.
func (s *stream) at(seq byte) *stream { s.seq = seq; return s }

func (s *stream) packet(payload ...byte) *stream {
	var b []byte
	b, s.seq = AppendPacket(nil, s.seq, payload)
	s.Write(b)
	return s
}

// physical writes one physical packet of n bytes which begins with first.
func (s *stream) physical(n int, first ...byte) *stream {
	s.Write(AppendHeader(nil, n, s.seq))
	s.seq++
	payload := make([]byte, n)
	copy(payload, first)
	s.Write(payload)
	return s
}

func (s *stream) command(c Command, text string) *stream {
	s.seq = 0
	return s.packet(append([]byte{byte(c)}, text...)...)
}

func (s *stream) ok(status Status) *stream {
	return s.packet(OK{Status: status}.Append(nil)...)
}

func (s *stream) eof(status Status) *stream { return s.packet(appendEOF(nil, status, 0)...) }

// end is the OK in place of an EOF, with a block of session state behind it.
func (s *stream) end(status Status, tail string) *stream {
	return s.packet(append(OK{Status: status}.append(nil, headerEOF), tail...)...)
}

func (s *stream) err(code uint16) *stream {
	return s.packet((&Error{Code: code, State: "HY000", Message: "no"}).Append(nil)...)
}

func (s *stream) column(name string) *stream {
	return s.packet(Text(name, 10).Append(nil, 0)...)
}

func (s *stream) prepareOK(columns, params uint16) *stream {
	b := []byte{0, 7, 0, 0, 0}
	b = binary.LittleEndian.AppendUint16(b, columns)
	b = binary.LittleEndian.AppendUint16(b, params)
	return s.packet(append(b, 0, 0, 0)...)
}
