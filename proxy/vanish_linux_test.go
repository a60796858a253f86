package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// deaf makes a connection lose every packet that comes, as a host does that has lost its power or
// its network: nothing is acknowledged any more. It waits until nothing is on its way from here:
// what is sent again would be a sign of life.
func deaf(c net.Conn) error {
	for unacknowledged := true; unacknowledged; {
		err := onSocket(c, func(fd int) error {
			info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
			unacknowledged = err == nil && info.Unacked > 0
			return err
		})
		if err != nil {
			return err
		}
		rest(context.Background(), time.Millisecond)
	}

	nothing := unix.SockFprog{Len: 1, Filter: &unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}}
	return onSocket(c, func(fd int) error {
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &nothing)
	})
}

// hearing ends that.
func hearing(c net.Conn) error {
	return onSocket(c, func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0) })
}

func onSocket(c net.Conn, do func(fd int) error) error {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	var done error
	if err := raw.Control(func(fd uintptr) { done = do(int(fd)) }); err != nil {
		return err
	}
	return done
}

// short is a silence that tests can wait for.
const short = 500 * time.Millisecond

// A peer that vanishes with something on its way to it ends the session as soon as keep-alive would
// end an idle one, whichever side it is on.
func TestPeerVanishesWithAnAnswerOnItsWay(t *testing.T) {
	t.Parallel()
	asked, vanished := make(chan struct{}), make(chan struct{})
	backend := wiretest.Serve(t, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), expectQuery("SELECT 1"), wiretest.Do(func() { close(asked) }),
		wiretest.Do(func() { <-vanished }), wiretest.Send(1, okPacket(auto)), wiretest.ExpectClose(),
	})
	p := startEdge(t, BackendsConfig{Addresses: []string{backend}}, Config{silence: short})
	play(t, p.address, wiretest.LogIn(wiretest.Capabilities), query("SELECT 1"), wiretest.Do(func() { <-asked }),
		stepFunc(deaf), wiretest.Do(func() { close(vanished) }),
		wiretest.Do(func() { await(t, func() bool { return p.count() == 0 }) }))
}

func TestServerVanishesWithACommandOnItsWay(t *testing.T) {
	t.Parallel()
	vanished := make(chan struct{})
	backend := wiretest.Serve(t, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), stepFunc(deaf), wiretest.Do(func() { close(vanished) }),
		stepFunc(func(c net.Conn) error { io.Copy(io.Discard, c); return nil }),
	})
	p := startEdge(t, BackendsConfig{Addresses: []string{backend}}, Config{silence: short})
	play(t, p.address, wiretest.LogIn(wiretest.Capabilities), wiretest.Do(func() { <-vanished }), query("SELECT 1"),
		wiretest.ExpectClose())
}

// A network that loses packets for a while, and a client that does not read for long, are alive.
func TestLivingPeersAreNotCut(t *testing.T) {
	t.Parallel()
	answer := rowsOf(t, 1, wire.TextRows, auto, manyValues()...)
	const long = 10 * short // in half of it a busy machine hears again in time
	for name, c := range map[string]struct {
		silence time.Duration
		pause   wiretest.Step
	}{
		"reads nothing for long": {
			short, stepFunc(func(net.Conn) error { rest(context.Background(), 4*short); return nil }),
		},
		"loses packets for a moment": {long, stepFunc(func(c net.Conn) error {
			if err := deaf(c); err != nil {
				return err
			}
			rest(context.Background(), long/2)
			return hearing(c)
		})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := wiretest.Serve(t, wiretest.Script{
				wiretest.ServeLogin(wiretest.Capabilities), expectQuery("SELECT 1"), wiretest.SendBytes(answer),
				wiretest.ExpectClose(),
			})
			p := startEdge(t, BackendsConfig{Addresses: []string{backend}}, Config{silence: c.silence})
			play(t, p.address, wiretest.LogIn(wiretest.Capabilities), query("SELECT 1"), c.pause,
				expectAll(answer))
		})
	}
}

// expectAll reads bytes that are too many to be shown.
func expectAll(want []byte) wiretest.Step {
	return stepFunc(func(c net.Conn) error {
		got := make([]byte, len(want))
		if n, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("got %d bytes, %w, want %d", n, err, len(want))
		}
		return nil
	})
}

// manyValues are more than the buffers of the sockets on the way take.
func manyValues() []any {
	values := make([]any, 16<<10)
	for i := range values {
		values[i] = strings.Repeat("x", 1000)
	}
	return values
}

// The kernel is told of keep-alive, and of nothing that ends a session earlier.
func TestSocketsEndNoSessionEarlier(t *testing.T) {
	t.Parallel()
	p := startEdge(t, BackendsConfig{Addresses: []string{wellAddress(t)}}, Config{})
	loggedIn(t, p.address)
	p.each(func(e *session) {
		for _, c := range e.wires {
			for option, want := range map[int]int{
				unix.TCP_USER_TIMEOUT: 0,
				unix.TCP_KEEPIDLE:     int(keepAlive.Idle.Seconds()),
				unix.TCP_KEEPINTVL:    int(keepAlive.Interval.Seconds()),
				unix.TCP_KEEPCNT:      keepAlive.Count,
			} {
				err := onSocket(c, func(fd int) error {
					got, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, option)
					if err == nil && got != want {
						err = fmt.Errorf("got %d, want %d", got, want)
					}
					return err
				})
				if err != nil {
					t.Errorf("option %d of %s: %v", option, c.RemoteAddr(), err)
				}
			}
		}
	})
}

// What people are told about vanished peers is what the constants say.
func TestSilenceIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/how-to/load-balancer.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	want := fmt.Sprintf("noticed after %.0f s of silence (keep-alive after %.0f s, %d probes %.0f s apart)",
		silence.Seconds(), keepAlive.Idle.Seconds(), keepAlive.Count, keepAlive.Interval.Seconds())
	if !strings.Contains(text, want) {
		t.Errorf("load-balancer.md does not say %q", want)
	}
}

func TestVain(t *testing.T) {
	t.Parallel()
	const second, limit = int64(time.Second), 10 * time.Second
	began := vain{since: 5 * second, asked: 3}
	for _, c := range []struct {
		name     string
		v        vain
		p        pulse
		now      int64
		want     vain
		vanished bool
	}{
		{"nothing is on its way", began, pulse{still: time.Hour}, 9 * second, vain{}, false},
		{"asked for the first time", vain{}, pulse{asked: 2, still: time.Hour}, 9 * second, vain{9 * second, 2}, false},
		{"in vain so far", began, pulse{asked: 9, still: 5 * time.Second}, 9 * second, began, false},
		{"in vain for long", began, pulse{asked: 5, still: time.Minute}, 15 * second, began, true},
		{"for long, but hardly asked", began, pulse{asked: 4, still: time.Minute}, 15 * second, began, false},
		{"answered meanwhile", began, pulse{asked: 9, still: time.Second}, 15 * second, vain{15 * second, 9}, false},
	} {
		got := c.v.after(c.p, c.now)
		if got != c.want || got.vanished(c.p, c.now, limit) != c.vanished {
			t.Errorf("%s: got %+v, vanished %v", c.name, got, got.vanished(c.p, c.now, limit))
		}
	}
}
