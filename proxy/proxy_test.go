package proxy

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// handlerFunc holds back every statement that begins with the word "ours".
type handlerFunc func(ctx context.Context, x *Exchange) error

func (f handlerFunc) Candidate(text []byte) bool { return bytes.HasPrefix(text, []byte("ours")) }

func (handlerFunc) Concerns(*Exchange) bool { return true }

func (f handlerFunc) Handle(ctx context.Context, x *Exchange) error { return f(ctx, x) }

func (handlerFunc) Asleep(context.Context, uint32) bool { return false }

// pass is a handler that lets everything pass.
func pass(_ context.Context, x *Exchange) error {
	_, err := x.Pass()
	return err
}

// proxyFor runs a proxy in front of a backend and returns its address and how to stop it.
func proxyFor(t testing.TB, backend string, c Config, h handlerFunc) (address string, stop func()) {
	t.Helper()
	return proxyWith(t, backend, c, h)
}

// proxyWith does the same with any handler.
func proxyWith(t testing.TB, backend string, c Config, h Handler) (address string, stop func()) {
	t.Helper()
	return proxyCounting(t, backend, c, h, NewMetrics(nil))
}

// proxyCounting does the same with metrics that the test looks at.
func proxyCounting(t testing.TB, backend string, c Config, h Handler, m *Metrics) (address string, stop func()) {
	t.Helper()
	c.Listen = []string{wiretest.OwnAddress()}
	c.Handler = h
	c.lastWord = scriptedWord
	log := wiretest.NewLog(t)
	logger := slog.New(slog.NewTextHandler(log, nil))

	backends, err := NewBackends(BackendsConfig{Addresses: []string{backend}, DialTimeout: c.LoginTimeout}, logger)
	if err != nil {
		t.Fatal(err)
	}

	s, err := New(t.Context(), c, backends, logger, m)
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	stop = func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Error("the server did not end")
		}
		log.End()
	}

	t.Cleanup(stop)
	return s.Addr().String(), stop
}

// play is a client that follows a script and must come to its end.
func play(t *testing.T, address string, steps ...wiretest.Step) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := wiretest.Script(steps).Play(c); err != nil {
		t.Errorf("scripted client: %v", err)
	}
}

// relay lets a client talk to a backend through a proxy, both logged in.
func relay(t *testing.T, h handlerFunc, caps wire.Capability, client, server wiretest.Script) {
	t.Helper()
	caps |= wiretest.Capabilities
	backend := wiretest.Serve(t, wiretest.Script{wiretest.ServeLogin(caps), server, wiretest.ExpectClose()})
	address, _ := proxyFor(t, backend, Config{}, h)
	play(t, address, append(wiretest.Script{wiretest.LogIn(caps)}, client...)...)
}

func command(c wire.Command, text string) []byte { return append([]byte{byte(c)}, text...) }

func query(text string) wiretest.Step { return wiretest.Send(0, command(wire.Query, text)) }

func expectQuery(text string) wiretest.Step { return wiretest.Expect(0, command(wire.Query, text)) }

func okPacket(status wire.Status) []byte { return wire.OK{Status: status}.Append(nil) }

func errPacket(code uint16, message string) []byte {
	return (&wire.Error{Code: code, State: "HY000", Message: message}).Append(nil)
}

// rowsOf is a result set of one column, as packets from number seq on.
func rowsOf(t *testing.T, seq byte, form wire.Form, status wire.Status, values ...any) []byte {
	t.Helper()
	rs := wire.ResultSet{Columns: []wire.Column{wire.Text("c", 100)}}
	for _, v := range values {
		rs.Rows = append(rs.Rows, []any{v})
	}
	b, _, err := rs.Append(nil, seq, form, wiretest.Capabilities, wire.OK{Status: status})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func testLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
