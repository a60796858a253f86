package signal

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// mostAnswer is how much of an answer is read: signals are numbers, and whoever is asked may say anything, and for
// ever.
const mostAnswer = 64 << 10

// mostText is how much of a text that was answered is passed on.
const mostText = 500

// A server goes on with a question for long after whoever asked has hung up, so that one that hangs would have more and
// more of them, each on a connection of its own. So it has to end them itself, and to wait no longer for a lock. What
// stands in comments is for one of the servers.
const endsItself = "1 /*M!100600 , max_statement_time = 1 */ /*!80000 , max_execution_time = 1000 */"

// EndQuestions makes the server end each question of a session after a second.
const EndQuestions = "SET SESSION lock_wait_timeout = " + endsItself

// Bounded is the same account, whose connections end with an answer that is too long.
func Bounded(cfg *mysql.Config) *mysql.Config {
	cfg = cfg.Clone()
	dial := cfg.DialFunc
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &boundedConn{Conn: conn}, nil
	}
	return cfg
}

// boundedConn is a connection to a server that answers each question by no more than mostAnswer.
type boundedConn struct {
	net.Conn
	answered int
}

func (c *boundedConn) Write(question []byte) (int, error) {
	c.answered = 0
	return c.Conn.Write(question)
}

func (c *boundedConn) Read(answer []byte) (int, error) {
	left := mostAnswer - c.answered
	if left <= 0 {
		return 0, errors.New("the answer is too long")
	}
	n, err := c.Conn.Read(answer[:min(len(answer), left)])
	c.answered += n
	return n, err
}

// SyscallConn lets the driver notice that the server has closed the connection meanwhile.
func (c *boundedConn) SyscallConn() (syscall.RawConn, error) {
	if inner, ok := c.Conn.(syscall.Conn); ok {
		return inner.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// boundedTransport reads no more than that of what comes before a body, and in HTTP/1, where nothing comes that
// nobody has asked for.
func boundedTransport() *http.Transport {
	t := &http.Transport{
		MaxIdleConns: 1, IdleConnTimeout: longest, MaxResponseHeaderBytes: mostAnswer, Protocols: new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return t
}

// brief is the beginning of a text that may be a long answer.
func brief(text string) string {
	n := 0
	for at := range text {
		if n++; n > mostText {
			return text[:at] + "…"
		}
	}
	return text
}
