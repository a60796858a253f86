package wire

import (
	"io"
	"slices"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// TestNonsenseIsTheServersAffair sends what no client should send. The server's answer comes
// through, and nothing else does.
func TestNonsenseIsTheServersAffair(t *testing.T) {
	packet := func(seq byte, payload []byte) []byte {
		b, _ := wire.AppendPacket(nil, seq, payload)
		return b
	}
	ends := map[string][]byte{ // the session
		"wrong number":               packet(5, sql("SELECT 1")),
		"wrong number, of ours":      packet(5, sql("ALTER TABLE t TTL = a + INTERVAL 1 DAY")),
		"dump, cut short":            packet(0, cmd(wire.BinlogDump, 1, 2)),
		"several, the second broken": slices.Concat(packet(0, sql("SELECT 1")), packet(3, sql("SELECT 2"))),
	}

	goesOn := map[string][]byte{
		"empty packet":                packet(0, nil),
		"empty query":                 packet(0, sql("")),
		"zero byte in a query":        packet(0, sql("SELECT '\x00', ttl_\x00")),
		"not a character":             packet(0, sql("SHOW TTL \xFF\xFE\xC3")),
		"unknown command":             packet(0, cmd(0x42)),
		"last command":                packet(0, cmd(0xFF)),
		"execute of nothing":          packet(0, cmd(wire.Execute)),
		"execute, cut short":          packet(0, cmd(wire.Execute, 1, 0, 0)),
		"fetch, cut short":            packet(0, cmd(wire.Fetch, 1)),
		"close, cut short":            packet(0, cmd(wire.CloseStatement, 1)),
		"long data, cut short":        packet(0, cmd(wire.SendLongData, 1)),
		"option, cut short":           packet(0, cmd(wire.SetOption)),
		"option unknown":              packet(0, cmd(wire.SetOption, 7, 7)),
		"list of fields, without end": packet(0, cmd(wire.FieldList, 't')),
		"prepare of nothing":          packet(0, cmd(wire.Prepare)),
	}

	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		user(t, s, "confused")
		proxies, stop := startBoth(t, s.Addr())
		t.Cleanup(stop)
		leave := slices.Concat(packet(0, cmd(wire.Ping)), packet(0, cmd(wire.Quit)))
		for name, b := range goesOn {
			compareLastWords(t, name, s.Addr(), proxies, slices.Concat(b, leave))
		}

		for name, b := range ends { // nothing may follow: behind a reset no answer arrives
			compareLastWords(t, name, s.Addr(), proxies, b)
		}
	})
}

// compareLastWords sends bytes directly and through the proxy, and compares what comes back up to
// the end of the session.
func compareLastWords(t *testing.T, name, server string, proxies map[string]string, b []byte) {
	t.Helper()
	said := func(address string) string {
		c := logIn(t, address, "confused", "", wire.MultiResults)
		defer c.Close()
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
		all, _ := io.ReadAll(c) // up to the end, or to the reset by a server that has not read everything
		return string(all)
	}
	direct := said(server)
	for way, proxied := range proxies {
		if got := said(proxied); direct != got {
			t.Errorf("%s: directly %q, %s %q", name, direct, way, got)
		}
	}
}
