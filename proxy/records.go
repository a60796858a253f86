package proxy

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// records is the connection below TLS. It can be read without waiting, and counts the records that
// have come, so that whoever reads above it knows when there is nothing more to decrypt. A session
// that waits then needs no buffer for it.
type records struct {
	net.Conn
	raw syscall.RawConn

	patient bool // reads wait
	came    int  // complete records that were read and may not have been decrypted yet
	header  [recordHeader]byte
	nheader int
	left    int // bytes of the present record still to come

	try func(fd uintptr) bool
	b   []byte
	n   int
	err error
}

// recordHeader is the size of a record's header: its type, the version and the length.
const recordHeader = 5

// beneath puts records between a connection and TLS, if the system lets it look there.
func beneath(c net.Conn) net.Conn {
	s, ok := c.(syscall.Conn)
	if !ok {
		return c
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return c
	}
	r := &records{Conn: c, raw: raw, patient: true}
	r.try = r.tryRead
	return r
}

// errNothing says that nothing has come. TLS takes it for one of the errors after which it can go
// on.
var errNothing net.Error = nothingCame{}

type nothingCame struct{}

func (nothingCame) Error() string   { return "nothing has come" }
func (nothingCame) Timeout() bool   { return true }
func (nothingCame) Temporary() bool { return true }

// Read reads what there is, and waits for it if it is patient.
func (r *records) Read(b []byte) (int, error) {
	r.b = b
	err := r.raw.Read(r.try)
	r.b = nil
	switch {
	case err != nil:
		return 0, err
	case r.err != nil:
		return 0, r.err
	}
	r.count(b[:r.n])
	return r.n, nil
}

// tryRead is called by the runtime's poller, so it must not block.
func (r *records) tryRead(fd uintptr) bool {
	for {
		n, err := syscall.Read(int(fd), r.b)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			r.n, r.err = 0, errNothing
			return !r.patient
		case n == 0 && err == nil:
			err = io.EOF
		}
		r.n, r.err = max(n, 0), err
		return true
	}
}

// count follows the records in what was read.
func (r *records) count(b []byte) {
	for len(b) > 0 {
		if r.left == 0 {
			n := copy(r.header[r.nheader:], b)
			b = b[n:]
			if r.nheader += n; r.nheader < recordHeader {
				return
			}
			r.left = int(r.header[3])<<8 | int(r.header[4])
		}

		n := min(r.left, len(b))
		b = b[n:]
		if r.left -= n; r.left == 0 {
			r.nheader = 0
			r.came++
		}
	}
}
