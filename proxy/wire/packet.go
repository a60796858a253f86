package wire

import (
	"errors"
	"fmt"
	"io"
)

const (
	// HeaderSize is the size of the header of a physical packet: three bytes of length, one of
	// sequence.
	HeaderSize = 4
	// MaxPayload is the longest payload of one physical packet. A packet of exactly this length is
	// continued by the next one, which may be empty.
	MaxPayload = 0xFFFFFF
)

// ErrTooLong means that a packet is longer than its reader allows.
var ErrTooLong = errors.New("packet too long")

// errShort means that a payload ends before the value that should be there.
var errShort = errors.New("packet too short")

// Header reads the length and the sequence number of a physical packet; b holds at least HeaderSize
// bytes.
func Header(b []byte) (length int, seq byte) {
	return int(b[0]) | int(b[1])<<8 | int(b[2])<<16, b[3]
}

// AppendHeader appends the header of a physical packet.
func AppendHeader(dst []byte, length int, seq byte) []byte {
	return append(dst, byte(length), byte(length>>8), byte(length>>16), seq)
}

// AppendPacket appends payload as one logical packet, in as many physical ones as it needs,
// and returns the sequence number which comes next.
func AppendPacket(dst []byte, seq byte, payload []byte) ([]byte, byte) {
	for {
		n := min(len(payload), MaxPayload)
		dst = AppendHeader(dst, n, seq)
		dst = append(dst, payload[:n]...)
		payload = payload[n:]
		seq++
		if n < MaxPayload {
			return dst, seq
		}
	}
}

// ReadPacket reads one physical packet of at most limit bytes from r into buf, growing it when it
// must. It reads not a byte more than the packet: what follows may belong to TLS.
func ReadPacket(r io.Reader, buf []byte, limit int) (payload []byte, seq byte, err error) {
	var h [HeaderSize]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return nil, 0, err
	}

	n, seq := Header(h[:])
	if n > limit {
		return nil, seq, fmt.Errorf("%w: %d bytes, at most %d are allowed here", ErrTooLong, n, limit)
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}

	buf = buf[:n]
	if _, err := io.ReadFull(r, buf); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, seq, err
	}

	return buf, seq, nil
}

// NextPacket splits the first logical packet off b. A packet of several physical ones is joined in
// a copy.
func NextPacket(b []byte) (payload, rest []byte, err error) {
	joined := false
	for {
		if len(b) < HeaderSize {
			return nil, nil, errShort
		}

		n, _ := Header(b)
		b = b[HeaderSize:]
		if len(b) < n {
			return nil, nil, errShort
		}

		switch {
		case joined:
			payload = append(payload, b[:n]...)
		case n == MaxPayload:
			payload = append(make([]byte, 0, 2*MaxPayload), b[:n]...)
		default:
			payload = b[:n:n]
		}

		b = b[n:]
		if n < MaxPayload {
			return payload, b, nil
		}

		joined = true
	}
}
