package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

const (
	upSize   = 16 << 10 // of the buffer for what a client sends
	downSize = 32 << 10 // of the buffer for what a server sends
	tlsSize  = 512      // of what an idle TLS connection reads into
)

// buffers are shared by all sessions of a server, so that an idle session owns none.
type buffers struct{ up, down sync.Pool }

func newBuffers() *buffers {
	pool := func(size int) sync.Pool {
		return sync.Pool{New: func() any { b := make([]byte, size); return &b }}
	}
	return &buffers{up: pool(upSize), down: pool(downSize)}
}

// inlet reads from a connection. It takes its buffer from a pool only when there is something to
// read, and returns it when everything has been used, so that waiting costs no memory. Under TLS,
// where it cannot see whether there is something, it waits with a small buffer.
//
// Bytes r to w have been read and not used yet.
type inlet struct {
	conn net.Conn
	raw  syscall.RawConn // nil under TLS
	pool *sync.Pool

	pooled *[]byte
	buf    []byte
	r, w   int
	small  []byte // under TLS

	try func(fd uintptr) bool
	n   int
	err error
}

func newInlet(conn net.Conn, pool *sync.Pool) *inlet {
	in := &inlet{conn: conn, pool: pool}
	if c, ok := conn.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			in.raw = raw
			in.try = in.tryRead
			return in
		}
	}
	in.small = make([]byte, tlsSize)
	return in
}

// begin puts what has been read elsewhere before everything else.
func (in *inlet) begin(b []byte) {
	if len(b) > 0 {
		in.buf, in.w = b, len(b)
	}
}

// pending is what was read and not used yet. It is valid until the next fill.
func (in *inlet) pending() []byte { return in.buf[in.r:in.w] }

// use says that the first n pending bytes are done with.
func (in *inlet) use(n int) {
	if in.r += n; in.r == in.w {
		in.r, in.w = 0, 0
	}
}

// reserve makes room for n bytes from the first pending one on.
func (in *inlet) reserve(n int) {
	if len(in.buf)-in.r >= n {
		return
	}
	old := in.buf
	if len(old) < n {
		in.buf = make([]byte, n)
	}
	in.w = copy(in.buf, old[in.r:in.w])
	in.r = 0
	if len(old) < n {
		in.release()
	}
}

// release gives the buffer back to the pool, if it came from there.
func (in *inlet) release() {
	if in.pooled != nil {
		in.pool.Put(in.pooled)
		in.pooled = nil
	}
}

// drop gives up the buffer, which is empty.
func (in *inlet) drop() {
	in.release()
	in.buf = nil
}

// fill waits for at least one more byte.
func (in *inlet) fill() error {
	in.makeRoom()
	if in.raw == nil {
		return in.fillTLS()
	}
	if err := in.raw.Read(in.try); err != nil {
		return err
	}
	if in.err != nil {
		return in.err
	}
	in.w += in.n
	return nil
}

// fillBeyond waits until more than n bytes are pending.
func (in *inlet) fillBeyond(n int) error {
	if len(in.pending()) > n {
		return nil
	}
	return in.fill()
}

// makeRoom makes sure that there is room behind what is pending.
func (in *inlet) makeRoom() {
	if in.w == len(in.buf) && in.r > 0 {
		in.reserve(len(in.buf))
	}
	if in.w == len(in.buf) && in.w > 0 {
		in.reserve(2 * len(in.buf))
	}
}

// poll reads what has arrived, without waiting for more. Its error says that the connection is
// gone.
func (in *inlet) poll() error {
	if len(in.pending()) >= upSize {
		return nil // enough until it is used
	}

	in.makeRoom()
	if in.raw == nil {
		return in.pollTLS()
	}

	came := false
	if err := in.raw.Read(func(fd uintptr) bool { came = in.tryRead(fd); return true }); err != nil {
		return err
	}
	if !came {
		return nil
	}

	in.w += in.n
	return in.err
}

// pollTLS is poll under TLS, which can only wait briefly: whoever reads from such a connection
// decrypts.
func (in *inlet) pollTLS() error {
	const shortly = time.Millisecond
	if err := in.conn.SetReadDeadline(time.Now().Add(shortly)); err != nil {
		return err
	}
	err := in.fillTLS()
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		err = nil
	}
	return errors.Join(err, in.conn.SetReadDeadline(time.Time{}))
}

// tryRead reads if there is something to read. Called by the runtime's poller, it must not block.
func (in *inlet) tryRead(fd uintptr) bool {
	in.take()
	for {
		n, err := syscall.Read(int(fd), in.buf[in.w:])
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			if in.w == 0 {
				in.drop()
			}
			return false
		case n == 0 && err == nil:
			err = io.EOF
		}

		in.n, in.err = max(n, 0), err
		return true
	}
}

// take gets a buffer from the pool unless there is one.
func (in *inlet) take() {
	if in.buf == nil {
		in.pooled = in.pool.Get().(*[]byte)
		in.buf = *in.pooled
	}
}

// fillTLS reads into the small buffer while nothing is pending, and into a big one as long as the
// small one was filled: then there is more to come.
func (in *inlet) fillTLS() error {
	if in.w == 0 && in.n < tlsSize {
		in.drop()
		in.buf = in.small
	} else if in.w == 0 && in.pooled == nil {
		in.buf = nil
		in.take()
	}

	n, err := in.conn.Read(in.buf[in.w:])
	in.n = n
	in.w += n
	if n > 0 {
		return nil
	}

	return err
}
