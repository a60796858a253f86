package proxy

import (
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// With client-attributes the server knows where a client comes from, without a PROXY header.
func TestServerIsToldTheClientsAddress(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		p := startEdge(t, BackendsConfig{Addresses: []string{s.Addr()}}, Config{ClientAttributes: true})
		c, err := clientOf(t, s, p.address, nil)
		if err != nil {
			t.Fatal(err)
		}

		var on bool
		if err := c.QueryRowContext(t.Context(), "SELECT @@performance_schema").Scan(&on); err != nil {
			t.Fatal(err)
		}
		if !on {
			return // and the server shows them nowhere
		}

		var address string
		err = c.QueryRowContext(t.Context(), "SELECT CONCAT(i.attr_value, ':', p.attr_value) "+
			"FROM performance_schema.session_connect_attrs i JOIN performance_schema.session_connect_attrs p "+
			"USING (processlist_id) WHERE i.attr_name = '_client_ip' AND p.attr_name = '_client_port' "+
			"AND processlist_id = CONNECTION_ID()").Scan(&address)
		if list := p.Sessions(); err != nil || len(list) != 1 || list[0].Client != address {
			t.Errorf("got %q, %v, want the client of %+v", address, err, list)
		}
	})
}

// The connection log has a line for each session: who, where to, how much, and why it ended.
func TestConnectionsAreLogged(t *testing.T) {
	t.Parallel()
	one := wiretest.Script{wiretest.ServeLogin(wiretest.Capabilities), expectQuery("x"), wiretest.Send(1, okPacket(auto))}
	quits := wiretest.Expect(0, []byte{byte(wire.Quit)})
	for _, c := range []struct {
		ended  string
		server wiretest.Step
		client wiretest.Step
		before func(p *edge)
	}{
		{
			ended: endedByClient, server: quits,
			client: wiretest.Send(0, []byte{byte(wire.Quit)}),
		},
		{ended: endedByServer, server: wiretest.Script{}, client: wiretest.ExpectClose()},
		{
			ended: endedIdle, server: quits, client: wiretest.ExpectClose(),
			before: func(p *edge) {
				p.each(func(e *session) {
					awaitIdle(t, e)
					e.closeIfSilent(&settings{Config: Config{IdleTimeout: 1}})
				})
			},
		},
		{
			ended: endedDraining, server: quits, client: wiretest.ExpectClose(),
			before: func(p *edge) { go p.stop() },
		},
	} {
		backend := wiretest.Serve(t, wiretest.Script{one, c.server, wiretest.Close()})
		p := startEdge(t, BackendsConfig{Addresses: []string{backend}}, Config{ConnectionLog: true})
		conn := dialed(t, p.address)
		err := wiretest.Script{
			wiretest.LogIn(wiretest.Capabilities), query("x"), wiretest.Expect(1, okPacket(auto)),
		}.Play(conn)
		if err != nil {
			t.Fatal(err)
		}

		list := p.Sessions()
		mayBeOver := c.ended == endedByServer
		if !mayBeOver && (len(list) != 1 || list[0].ID != 7 || list[0].Client != conn.LocalAddr().String() ||
			list[0].Backend != backend || list[0].User != "user" || list[0].Received == 0 || list[0].Sent == 0) {
			t.Errorf("%s: got sessions %+v", c.ended, list)
		}
		if c.before != nil {
			c.before(p)
		}
		if err := c.client.Play(conn); err != nil {
			t.Errorf("%s: %v", c.ended, err)
		}

		await(t, func() bool { return strings.Contains(p.logged.String(), "msg=connection") })

		logged := strings.ReplaceAll(p.logged.String(), `"`, "")
		for _, want := range []string{
			"ended=" + c.ended, "client=" + conn.LocalAddr().String(), "user=user", "backend=" + backend, "sent=", "took=",
		} {
			if !strings.Contains(logged, want) {
				t.Errorf("%s: got %q, want %s", c.ended, logged, want)
			}
		}
	}
}
