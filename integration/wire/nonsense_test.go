package wire

import (
	"io"
	"slices"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// TestNonsenseIsTheServersAffair sends what no client should send. The server's answer comes through, and nothing else does.
func TestNonsenseIsTheServersAffair(t *testing.T) {
	packet := func(seq byte, payload []byte) []byte {
		b, _ := wire.AppendPacket(nil, seq, payload)
		return b
	}
	nonsense := map[string][]byte{
		"wrong number":                packet(5, sql("SELECT 1")),
		"wrong number, of ours":       packet(5, sql("ALTER TABLE t TTL = a + INTERVAL 1 DAY")),
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
		"change of user, overlong":    packet(0, cmd(wire.ChangeUser, 'x', 0, 250, 'y')),
		"list of fields, without end": packet(0, cmd(wire.FieldList, 't')),
		"dump, cut short":             packet(0, cmd(wire.BinlogDump, 1, 2)),
		"prepare of nothing":          packet(0, cmd(wire.Prepare)),
		"several, the second broken":  slices.Concat(packet(0, sql("SELECT 1")), packet(3, sql("SELECT 2"))),
	}
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		user(t, s, "confused")
		proxied := through(t, s.Addr())
		for name, b := range nonsense {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				direct, relayed := lastWords(t, s.Addr(), b), lastWords(t, proxied, b)
				if string(direct) != string(relayed) {
					t.Errorf("directly %q, through the proxy %q", direct, relayed)
				}
			})
		}
	})
}

// lastWords logs in, sends bytes and then takes leave, and returns all that the server has said to it.
func lastWords(t *testing.T, address string, b []byte) []byte {
	t.Helper()
	c := logIn(t, address, "confused", "", wire.MultiResults)
	defer c.Close()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	// What closes the connection at once must have been read before more is sent: behind a reset nothing arrives.
	c.SetReadDeadline(time.Now().Add(time.Second))
	said, _ := io.ReadAll(c)
	c.SetDeadline(time.Now().Add(30 * time.Second))
	c.Write([]byte{1, 0, 0, 0, byte(wire.Ping), 1, 0, 0, 0, byte(wire.Quit)}) //nolint:errcheck // it may be closed
	more, _ := io.ReadAll(c)
	return append(said, more...)
}
