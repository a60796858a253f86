package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
)

const (
	upSize   = 16 << 10          // of the buffer for what a client sends
	downSize = 32 << 10          // of the buffer for what a server sends
	longSize = glance + 2*upSize // of the buffer for a statement that has to be read to this depth
)

// buffers are shared by all sessions of a server, so that an idle session owns none.
type buffers struct{ up, down, long sync.Pool }

func newBuffers() *buffers {
	pool := func(size int) sync.Pool {
		return sync.Pool{New: func() any { b := make([]byte, size); return &b }}
	}
	return &buffers{up: pool(upSize), down: pool(downSize), long: pool(longSize)}
}

// inlet reads from a connection. It takes its buffer from a pool only when there is something to
// read, and returns it when everything has been used, so that waiting costs no memory. Under TLS it
// waits for the first byte with room for no more, and then takes all that was decrypted.
//
// Bytes r to w have been read and not used yet.
type inlet struct {
	conn    net.Conn
	raw     syscall.RawConn // nil under TLS
	records *records        // under TLS
	pool    *sync.Pool
	long    *sync.Pool

	pooled *[]byte
	from   *sync.Pool // the pool that it came from
	buf    []byte
	r, w   int
	first  [1]byte // under TLS

	try func(fd uintptr) bool
	n   int
	err error
}

func newInlet(conn net.Conn, pool, long *sync.Pool) *inlet {
	in := &inlet{conn: conn, pool: pool, long: long}
	if c, ok := conn.(*tls.Conn); ok {
		in.records, _ = c.NetConn().(*records)
		return in
	}
	if c, ok := conn.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			in.raw = raw
			in.try = in.tryRead
		}
	}
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
	old, pooled, from := in.buf, in.pooled, in.from
	if len(old) < n {
		in.grow(n)
	}
	in.w = copy(in.buf, old[in.r:in.w])
	in.r = 0
	if len(old) < n && pooled != nil {
		from.Put(pooled)
	}
}

// grow takes another buffer, of at least n bytes. Only the longest scripts get one of their own.
func (in *inlet) grow(n int) {
	switch {
	case n <= upSize:
		in.takeFrom(in.pool)
	case n <= longSize:
		in.takeFrom(in.long)
	default:
		in.pooled, in.buf = nil, make([]byte, n)
	}
}

// release gives the buffer back to the pool, if it came from there.
func (in *inlet) release() {
	if in.pooled != nil {
		in.from.Put(in.pooled)
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

// pollTLS is poll under TLS.
func (in *inlet) pollTLS() error {
	if in.records == nil {
		return nil
	}
	in.take()
	_, err := in.readNow()
	if in.w == 0 {
		in.drop()
	}
	return err
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
		in.takeFrom(in.pool)
	}
}

func (in *inlet) takeFrom(pool *sync.Pool) {
	in.pooled, in.from = pool.Get().(*[]byte), pool
	in.buf = *in.pooled
}

// fillTLS waits for a byte, and takes what has come with it.
func (in *inlet) fillTLS() error {
	if in.records == nil || in.w > 0 {
		in.take()
		n, err := in.conn.Read(in.buf[in.w:])
		return in.took(n, err)
	}

	in.drop()
	n, err := in.conn.Read(in.first[:])
	if n == 0 {
		return err
	}

	in.take()
	in.w = copy(in.buf, in.first[:])
	for more := true; more && in.w < len(in.buf); {
		if more, err = in.readNow(); err != nil {
			return nil //nolint:nilerr // the next read has it again
		}
	}
	return nil
}

func (in *inlet) took(n int, err error) error {
	in.w += n
	if n > 0 {
		return nil
	}
	return err
}

// readNow reads what can be decrypted without waiting, of one record at most. It reports whether
// there may be more of them.
func (in *inlet) readNow() (more bool, err error) {
	room := in.buf[in.w:]
	in.records.patient = false
	n, err := in.conn.Read(room)
	in.records.patient = true
	in.w += n

	if n < len(room) {
		in.records.came--
	}
	if errors.Is(err, errNothing) {
		in.records.came = 0
		return false, nil
	}
	return n < len(room) && in.records.came > 0, err
}
