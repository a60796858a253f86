package wiretest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// patience is how long a step may take.
const patience = 10 * time.Second

// Script is what a peer does, step by step. A script is itself a step.
type Script []Step

// Step is one thing that a peer does, or waits for.
type Step interface {
	Play(c net.Conn) error
}

type stepFunc func(c net.Conn) error

// Play does the step.
func (f stepFunc) Play(c net.Conn) error { return f(c) }

// Play does all steps; the first that fails ends the script.
func (s Script) Play(c net.Conn) error {
	for i, step := range s {
		c.SetDeadline(time.Now().Add(patience))
		if err := step.Play(c); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// Send sends one packet.
func Send(seq byte, payload []byte) Step {
	return stepFunc(func(c net.Conn) error {
		b, _ := wire.AppendPacket(nil, seq, payload)
		_, err := c.Write(b)
		return err
	})
}

// SendBytes sends bytes as they are.
func SendBytes(b []byte) Step {
	return stepFunc(func(c net.Conn) error {
		_, err := c.Write(b)
		return err
	})
}

// Expect reads one packet, which must be this one.
func Expect(seq byte, payload []byte) Step {
	return stepFunc(func(c net.Conn) error {
		got, gotSeq, err := wire.ReadPacket(c, nil, wire.MaxPayload)
		if err != nil {
			return fmt.Errorf("want packet %d %q: %w", seq, payload, err)
		}
		if gotSeq != seq || !bytes.Equal(got, payload) {
			return fmt.Errorf("got packet %d %q, want %d %q", gotSeq, got, seq, payload)
		}
		return nil
	})
}

// ExpectBytes reads exactly these bytes.
func ExpectBytes(want []byte) Step {
	return stepFunc(func(c net.Conn) error {
		got := make([]byte, len(want))
		n, err := io.ReadFull(c, got)
		if err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("got %q (%w), want %q", got[:n], err, want)
		}
		return nil
	})
}

// Receive reads one packet and hands it over.
func Receive(f func(payload []byte, seq byte) error) Step {
	return stepFunc(func(c net.Conn) error {
		payload, seq, err := wire.ReadPacket(c, nil, wire.MaxPayload)
		if err != nil {
			return err
		}
		return f(payload, seq)
	})
}

// Do runs f between two steps.
func Do(f func()) Step {
	return stepFunc(func(net.Conn) error { f(); return nil })
}

// Close closes the connection.
func Close() Step { return stepFunc(func(c net.Conn) error { return c.Close() }) }

// Reset closes the connection as the end of a process does that has not read everything: the other
// side's next write fails.
func Reset() Step {
	return stepFunc(func(c net.Conn) error {
		if t, ok := c.(*net.TCPConn); ok {
			t.SetLinger(0)
		}
		return c.Close()
	})
}

// SendUntilReset sends the same again and again until nobody takes it any more.
func SendUntilReset(b []byte) Step {
	return stepFunc(func(c net.Conn) error {
		for {
			_, err := c.Write(b)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return errors.New("the connection is still open")
			}
			if err != nil {
				return nil //nolint:nilerr // that is what was waited for
			}
		}
	})
}

// ExpectClose waits until the other side closes or says COM_QUIT, after which a server closes, without
// having sent anything more.
func ExpectClose() Step {
	quit := wire.AppendHeader(nil, 1, 0)
	quit = append(quit, byte(wire.Quit))
	return stepFunc(func(c net.Conn) error {
		got, err := io.ReadAll(io.LimitReader(c, int64(len(quit))))
		if len(got) > 0 && !bytes.Equal(got, quit) {
			return fmt.Errorf("got %q, want the end of the connection", got)
		}

		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return errors.New("the connection is still open")
		}

		return nil
	})
}

// Serve listens on a free port and plays the n-th script with the n-th client; the last script
// serves all further ones. It returns the address. A script that fails fails the test, which does
// not end before all scripts have.
func Serve(tb testing.TB, scripts ...Script) string {
	tb.Helper()
	return serve(tb, "tcp", OwnAddress(), scripts, oneByOne)
}

// ServeAll is Serve for clients that are there at the same time.
func ServeAll(tb testing.TB, scripts ...Script) string {
	tb.Helper()
	return serve(tb, "tcp", OwnAddress(), scripts, (*sync.WaitGroup).Go)
}

// ServeUnix is Serve on a socket, whose path it returns.
func ServeUnix(tb testing.TB, scripts ...Script) string {
	tb.Helper()
	return serve(tb, "unix", filepath.Join(tb.TempDir(), "s"), scripts, oneByOne)
}

// oneByOne plays a script to its end before the next client is let in.
func oneByOne(_ *sync.WaitGroup, play func()) { play() }

func serve(tb testing.TB, network, address string, scripts []Script, run func(*sync.WaitGroup, func())) string {
	tb.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		tb.Fatal(err)
	}

	var playing sync.WaitGroup
	playing.Go(func() {
		for i := 0; ; i++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			run(&playing, func() {
				if err := scripts[min(i, len(scripts)-1)].Play(c); err != nil {
					tb.Errorf("scripted server: %v", err)
				}
				c.Close()
			})
		}
	})

	tb.Cleanup(func() {
		l.Close()
		playing.Wait()
	})
	return l.Addr().String()
}
