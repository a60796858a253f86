package statement

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// An account with all rights on its own schema, and none on the other, gets at no policy there by
// what clients do not send: attributes that lie about their length, statements executed before
// their number is known, in bulk, or behind a change of the user, packets that go on in others, and
// commands that are sent while others are still at work.
func TestRawCommandsGiveNoRight(t *testing.T) {
	onStage(t, func(t *theatre) {
		own := t.server.Database(t.T)
		t.exec("CREATE TABLE t"+hourlyTable, "CREATE TABLE "+own+".t (id INT PRIMARY KEY, created DATETIME)",
			"CREATE TABLE "+own+".p"+hourlyTable)
		for _, account := range []string{"raw_own", "raw_none"} {
			t.direct.ExecContext(t.Context(), "DROP USER IF EXISTS "+account) // the next one says it
			t.direct.ExecContext(t.Context(), "CREATE USER "+account+" IDENTIFIED BY ''")
			t.Cleanup(func() { t.direct.Exec("DROP USER IF EXISTS " + account) })
		}

		if _, err := t.direct.ExecContext(t.Context(), "GRANT ALL ON "+own+".* TO raw_own"); err != nil {
			t.Fatal(err)
		}

		before := t.allPolicies()
		remove, declare := "ALTER TABLE "+t.schema+".t REMOVE TTL", "ALTER TABLE "+t.schema+
			".t TTL = created + INTERVAL 1 DAY"
		drop := "DROP TABLE " + t.schema + ".t"
		prepare := func(text string) []byte { return command(wire.Prepare, text) }
		long := command(wire.Query, "DO 1 /*"+strings.Repeat("x", wire.MaxPayload)+"*/; "+remove)

		for name, commands := range map[string][][]byte{
			"the last statement, which is another": {
				prepare("ALTER TABLE " + own + ".t REMOVE TTL"),
				prepare(remove), executeID(wire.LastStatement), prepare("DO 1"), executeID(wire.LastStatement),
			},
			"the last statement, which was refused": {
				prepare(drop),
				prepare("ALTER TABLE " + own + ".t TTL = nonsense"), executeID(wire.LastStatement),
			},
			"in bulk": {
				prepare(drop), bulkID(1), bulkID(wire.LastStatement),
				prepare(declare), bulkID(2), executeID(2), bulkID(wire.LastStatement),
			},
			"behind COM_RESET_CONNECTION": {
				prepare(remove), command(wire.ResetConnection, ""),
				executeID(1), executeID(wire.LastStatement),
			},
			"behind COM_CHANGE_USER": {
				prepare(remove),
				changeUserTo("raw_none", "", "mysql_native_password"), executeID(1), executeID(wire.LastStatement),
			},
			"a schema chosen between the two": {
				prepare("ALTER TABLE t REMOVE TTL"),
				command(wire.InitDB, t.schema), executeID(1), command(wire.Query, "ALTER TABLE t REMOVE TTL"),
			},
			"a packet that goes on in another": {long},
			"attributes of a kind that nobody knows": {
				attributes(0xF3, "\x05DO 1 "+remove),
				attributes(0xFE, "\x03DO "+remove), attributes(0x00, remove),
			},
			"several attributes than there are": {append([]byte{byte(wire.Query), 0xFC, 0xFF, 0xFF, 1},
				remove...), append([]byte{byte(wire.Query), 0, 7}, remove...)},
			"several statements, while one is at work": {
				command(wire.SetOption, "\x00\x00"),
				command(wire.Query, "DO SLEEP(0.2); "+remove), command(wire.Query, drop), prepare(drop), executeID(1),
			},
		} {
			more := wire.Capability(0)
			if strings.Contains(name, "attributes") {
				more = wire.QueryAttributes
			}

			t.sendRaw("raw_own", own, more, commands)
			if after := t.allPolicies(); after != before {
				t.Errorf("%s: policies are\n%s and were\n%s", name, after, before)
			}
		}
	})
}

func executeID(id uint32) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte{byte(wire.Execute)}, id), 0, 1, 0, 0, 0)
}

func bulkID(id uint32) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte{byte(wire.BulkExecute)}, id), 0, 0)
}

// attributes is a query with one attribute of a kind, in front of the text.
func attributes(kind byte, text string) []byte {
	return append([]byte{byte(wire.Query), 1, 1, 0, 1, kind, 0, 1, 'a'}, text...)
}

// sendRaw sends commands in one piece, each without waiting for the answer to the one before, and
// reads until the server has had enough. The account has no password.
func (t *theatre) sendRaw(account, schema string, caps wire.Capability, commands [][]byte) (answers []byte) {
	t.Helper()
	c, err := net.Dial("tcp", t.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	c.SetDeadline(time.Now().Add(time.Minute))
	payload, _, err := wire.ReadPacket(c, nil, wire.MaxPayload)
	if err != nil {
		t.Fatal(err)
	}

	var g wire.Greeting
	if err := g.Decode(payload); err != nil {
		t.Fatal(err)
	}

	caps |= wire.Protocol41 | wire.SecureConnection | wire.PluginAuth | wire.Transactions | wire.ConnectWithDB | wire.MultiStatements |
		wire.MultiResults | g.Capabilities&wire.LongPassword
	response := binary.LittleEndian.AppendUint32(nil, uint32(caps))
	response = append(binary.LittleEndian.AppendUint32(response, 1<<30), 45)
	response = append(response, make([]byte, 23)...)
	response = append(response, account+"\x00\x00"+schema+"\x00"+g.AuthPlugin+"\x00"...)

	out, _ := wire.AppendPacket(nil, 1, response)
	if _, err := c.Write(out); err != nil {
		t.Fatal(err)
	}

	for {
		payload, seq, err := wire.ReadPacket(c, nil, wire.MaxPayload)
		if err != nil || payload[0] == wire.AuthError {
			t.Fatalf("log in as %s: %q, %v", account, payload, err)
		}
		if payload[0] == wire.AuthOK {
			break
		}
		if payload[0] == wire.AuthSwitch {
			out, _ := wire.AppendPacket(nil, seq+1, nil)
			c.Write(out) // the next read says it
		}
	}

	out = nil
	for _, command := range append(commands, []byte{byte(wire.Quit)}) {
		out, _ = wire.AppendPacket(out, 0, command)
		if command[0] == byte(wire.ChangeUser) {
			out, _ = wire.AppendPacket(out, 2, nil) // for the plugin that the server prefers
		}
	}

	go c.Write(out)            // it may be cut off
	answers, _ = io.ReadAll(c) // the server ends it, in its way
	return answers
}

// allPolicies says of each in what state it is.
func (t *theatre) allPolicies() string {
	t.Helper()
	all, err := t.store.Policies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range all {
		p := &all[i]
		b.WriteString(p.Table.String() + " " + string(p.State) + " " + p.Rule.Column + " " + p.StateAt.String() + "\n")
	}
	return b.String()
}
