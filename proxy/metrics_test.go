package proxy

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// A command counts once, whatever we ask the server for it, and with the outcome that the client
// has seen.
func TestCommandsAreCountedAsTheClientSeesThem(t *testing.T) {
	t.Parallel()
	ok := wiretest.Send(1, okPacket(auto))
	backend := wiretest.Serve(t, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities),
		expectQuery("SELECT 1"), ok,
		expectQuery("nonsense"), wiretest.Send(1, errPacket(1064, "no")),
		expectQuery("question"), ok, expectQuery("another"), ok, expectQuery("ours forwarded"), ok,
		expectQuery("ours failing"), wiretest.Send(1, errPacket(1146, "no")),
		expectQuery("locked"), wiretest.Send(1, errPacket(1205, "no")),
		expectQuery("dead"), wiretest.Send(1, errPacket(1213, "no")),
		expectQuery("SELECT 2"), ok,
		wiretest.ExpectClose(),
	})

	registry := prometheus.NewRegistry()
	address, stop := proxyCounting(t, backend, Config{}, handlerFunc(func(_ context.Context, x *Exchange) error {
		var err error
		switch string(x.Text()) {
		case "ours forwarded":
			if _, err = x.Ask("question"); err == nil {
				_, err = x.Ask("another")
			}
			if err == nil {
				_, err = x.Pass()
			}
		case "ours failing":
			_, err = x.Pass()
		case "ours answered":
			x.Ours()
			err = x.OK(wire.OK{})
		default:
			err = &wire.Error{Code: 8148, State: "42000", Message: "no"}
		}

		return err
	}), NewMetrics(registry))

	play(
		t, address, wiretest.LogIn(wiretest.Capabilities),
		query("SELECT 1"), wiretest.Expect(1, okPacket(auto)),
		query("nonsense"), wiretest.Expect(1, errPacket(1064, "no")),
		query("ours forwarded"), wiretest.Expect(1, okPacket(auto)),
		query("ours failing"), wiretest.Expect(1, errPacket(1146, "no")),
		query("ours answered"), wiretest.Expect(1, okPacket(auto)),
		query("ours refused"), wiretest.Expect(1, (&wire.Error{Code: 8148, State: "42000", Message: "no"}).Append(nil)),
		query("locked"), wiretest.Expect(1, errPacket(1205, "no")),
		query("dead"), wiretest.Expect(1, errPacket(1213, "no")),
		query("SELECT 2"), wiretest.Expect(1, okPacket(auto)),
	)

	stop()
	got := counted(t, registry)
	want := map[string]uint64{"ok": 4, "error": 5, "timed": 9, "added": 3, "locks": 2}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A session that is not understood is counted once, by the reason; the farewell of a server is
// understood.
func TestLostSessionsAreCounted(t *testing.T) {
	t.Parallel()
	whatever := wiretest.Receive(func([]byte, byte) error { return nil })
	for reason, server := range map[string]wiretest.Script{
		"command": {wiretest.Send(1, []byte("what?"))},
		"answer":  {wiretest.Send(1, nil)},
		"unasked": {wiretest.Send(1, okPacket(auto)), wiretest.Send(1, okPacket(auto))},
		"":        {wiretest.Send(1, okPacket(auto)), wiretest.Send(1, errPacket(4031, "idle too long"))},
	} {
		asked := []byte{byte(wire.Ping)}
		switch reason {
		case "command":
			asked = []byte{0x42}
		case "answer":
			asked = command(wire.Query, "SELECT 1")
		}

		ask := wiretest.Script{wiretest.Expect(0, asked)}
		ask = append(append(ask, server...), wiretest.Expect(0, command(wire.Query, "ours")),
			wiretest.Send(1, okPacket(auto)), wiretest.ExpectClose())
		m := NewMetrics(nil)
		backend := wiretest.Serve(t, wiretest.Script{wiretest.ServeLogin(wiretest.Capabilities), ask})
		address, stop := proxyCounting(t, backend, Config{}, handlerFunc(pass), m)

		answers := wiretest.Script{wiretest.Send(0, asked)}
		for range server {
			answers = append(answers, whatever)
		}
		play(t, address, wiretest.LogIn(wiretest.Capabilities), answers, query("ours"), whatever)

		stop()
		for _, r := range wire.Losses() {
			want := 0.0
			if r == reason {
				want = 1
			}
			if got := countOf(t, m.opaque, r); got != want {
				t.Errorf("%q: got %v sessions lost by %s, want %v", reason, got, r, want)
			}
		}
	}
}

// countOf is what a counter with these labels says.
func countOf(t *testing.T, c prometheus.Collector, labels ...string) float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range families {
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if slices.Equal(values, labels) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}

	return 0
}

// counted is how many queries went well or failed, how many commands were timed, and how many of
// them for what we added.
func counted(t *testing.T, from prometheus.Gatherer) map[string]uint64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}

	got := make(map[string]uint64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			switch f.GetName() {
			case "ttlproxy_commands_total":
				if labels := m.GetLabel(); labels[0].GetValue() == wire.Query.String() {
					got[labels[1].GetValue()] = uint64(m.GetCounter().GetValue())
				}
			case "ttlproxy_command_seconds":
				got["timed"] = m.GetHistogram().GetSampleCount()
			case "ttlproxy_lock_errors_total":
				got["locks"] = uint64(m.GetCounter().GetValue())
			case "ttlproxy_added_seconds":
				got["added"] = m.GetHistogram().GetSampleCount()
			}
		}
	}

	return got
}
