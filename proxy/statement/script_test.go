package statement

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// auto is the status of a session outside a transaction.
const auto = wire.Autocommit

// handlerFunc holds back every statement that begins with the word "ours".
type handlerFunc func(ctx context.Context, x *proxy.Exchange) error

func (f handlerFunc) Candidate(text []byte) bool { return bytes.HasPrefix(text, []byte("ours")) }

func (handlerFunc) Concerns(*proxy.Exchange) bool { return true }

func (f handlerFunc) Handle(ctx context.Context, x *proxy.Exchange) error { return f(ctx, x) }

func (handlerFunc) Asleep(context.Context, uint32) bool { return false }

// proxyWith runs a proxy in front of a backend until the test ends, and returns its address.
func proxyWith(t testing.TB, backend string, h proxy.Handler) string {
	t.Helper()
	log := wiretest.NewLog(t)
	logger := slog.New(slog.NewTextHandler(log, nil))

	backends, err := proxy.NewBackends(proxy.BackendsConfig{
		Addresses: []string{backend}, CheckTimeout: time.Minute, // after half of which a busy machine is suspected
	}, logger)
	if err != nil {
		t.Fatal(err)
	}

	config := proxy.Config{Listen: []string{wiretest.OwnAddress()}, Handler: h}
	s, err := proxy.New(t.Context(), config, backends, logger, proxy.NewMetrics(nil))
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()

	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the proxy did not end")
		}
		log.End()
	})

	return s.Addr().String()
}

// relay lets a client that sends the word "ours" talk to a backend, both logged in.
func relay(t *testing.T, h handlerFunc, server wiretest.Script) {
	t.Helper()
	backend := wiretest.Serve(t,
		wiretest.Script{wiretest.ServeLogin(wiretest.Capabilities), server, wiretest.ExpectClose()})
	c, err := net.Dial("tcp", proxyWith(t, backend, h))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	ok := wire.OK{Status: auto}.Append(nil)
	client := wiretest.Script{
		wiretest.LogIn(wiretest.Capabilities), wiretest.Send(0, command(wire.Query, "ours")), wiretest.Expect(1, ok),
	}
	if err := client.Play(c); err != nil {
		t.Errorf("scripted client: %v", err)
	}
}

func command(c wire.Command, text string) []byte { return append([]byte{byte(c)}, text...) }

func expectQuery(text string) wiretest.Step { return wiretest.Expect(0, command(wire.Query, text)) }

func errPacket(code uint16, message string) []byte {
	return (&wire.Error{Code: code, State: "HY000", Message: message}).Append(nil)
}

// changeUserTo is COM_CHANGE_USER.
func changeUserTo(user, auth, plugin string) []byte {
	return command(wire.ChangeUser, user+"\x00"+string(rune(len(auth)))+auth+"db\x00\x2d\x00"+plugin+"\x00")
}
