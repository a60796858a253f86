package report

import (
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// Session is a client's session as its proxy sees it.
type Session struct {
	ID       uint32    `json:"id"` // the server's number of the connection
	Backend  string    `json:"backend"`
	Client   string    `json:"client"` // its address, even behind a load balancer
	User     string    `json:"user"`   // as the client spells it
	TLS      bool      `json:"tls"`
	Since    time.Time `json:"since"`
	Seconds  uint64    `json:"seconds"`  // since then
	Silent   uint64    `json:"silent"`   // seconds since its last command
	Received uint64    `json:"received"` // bytes from the client
	Sent     uint64    `json:"sent"`     // bytes to the client
}

var sessionColumns = []Column{
	{Name: "Connection_id", Type: Unsigned},
	{Name: "User", Type: Text},
	{Name: "Client", Type: Text},
	{Name: "Tls", Type: Name},
	{Name: "Backend", Type: Text},
	{Name: "Connected", Type: Time},
	{Name: "Seconds", Type: Unsigned},
	{Name: "Silent_seconds", Type: Unsigned},
	{Name: "Bytes_received", Type: Unsigned},
	{Name: "Bytes_sent", Type: Unsigned},
}

// Sessions is SHOW TTL SESSIONS: who is behind each connection of the server that came through a
// proxy.
func Sessions(sessions []Session) List {
	l := List{Name: "ttl_sessions", Columns: sessionColumns, Like: "User"}
	for _, s := range sessions {
		l.add(catalog.Table{}, uint64(s.ID), s.User, s.Client, onOff(s.TLS), s.Backend, s.Since.UTC(), s.Seconds,
			s.Silent, s.Received, s.Sent)
	}
	return l
}
