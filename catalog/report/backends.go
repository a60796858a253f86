package report

import (
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// Backend is a server as this proxy sees it.
type Backend struct {
	Address string `json:"address"`
	State   string `json:"state"`
	Reason  string `json:"reason"`  // why it is in that state, if that needs one
	Current bool   `json:"current"` // it takes the new sessions
	Drained bool   `json:"drained"` // its operator has taken it out of service
}

// String sums it up.
func (b Backend) String() string {
	text := b.Address + ": " + b.State
	if b.Reason != "" {
		text += " (" + b.Reason + ")"
	}

	switch {
	case b.Drained:
		return text + ", out of service"
	case b.Current:
		return text + ", takes new sessions"
	default:
		return text
	}
}

// AddBackends adds the servers to SHOW TTL STATUS, in the order of the configuration.
func (l *List) AddBackends(all []Backend) {
	for i, b := range all {
		l.add(catalog.Table{}, fmt.Sprintf("Backend_%d", i+1), b.String())
	}
}
