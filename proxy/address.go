package proxy

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// address is where to listen, or where a backend is: HOST:PORT or unix:PATH. A backend's may end in
// a question mark and options.
type address struct {
	network, address string
	header           headerVersion // of the PROXY protocol, for a backend
}

func (a address) String() string {
	if a.network != "tcp" {
		return a.network + ":" + a.address
	}
	return a.address
}

// inherited is the network of an address that somebody else has opened.
const inherited = "systemd"

// parseListen reads an address to listen on.
func parseListen(s string) (address, error) {
	if name, ok := strings.CutPrefix(s, inherited+":"); ok && name != "" {
		return address{network: inherited, address: name}, nil
	}
	return parseAddress(s)
}

// parseAddress reads HOST:PORT or unix:PATH.
func parseAddress(s string) (address, error) {
	if path, ok := strings.CutPrefix(s, "unix:"); ok && path != "" {
		return address{network: "unix", address: path}, nil
	}
	_, port, err := net.SplitHostPort(s)
	if err != nil || port == "" {
		return address{}, fmt.Errorf("address %q: want HOST:PORT or unix:PATH", s)
	}
	if n, err := strconv.Atoi(port); err == nil && (n < 0 || n > 65535) {
		return address{}, fmt.Errorf("address %q: ports go from 0 to 65535", s)
	}
	return address{network: "tcp", address: s}, nil
}

// parseBackend reads a backend's address, such as db1:3306, unix:/run/mysqld/mysqld.sock or
// db1:3306?proxy-protocol=v2&drain=on, and whether it is out of service.
func parseBackend(s string) (a address, drained bool, err error) {
	s, query, _ := strings.Cut(s, "?")
	if a, err = parseAddress(s); err != nil {
		return address{}, false, err
	}

	options, err := url.ParseQuery(query)
	if err != nil {
		return address{}, false, fmt.Errorf("backend %q: %w", s, err)
	}

	for name, values := range options {
		value := values[len(values)-1]
		switch name {
		case "proxy-protocol":
			a.header, err = parseHeaderVersion(value)
		case "drain":
			drained, err = parseDrain(value)
		default:
			err = fmt.Errorf("unknown option %q: there are proxy-protocol and drain", name)
		}
		if err != nil {
			return address{}, false, fmt.Errorf("backend %q: %w", s, err)
		}
	}

	return a, drained, nil
}

func parseDrain(s string) (bool, error) {
	if s != "on" && s != "off" {
		return false, fmt.Errorf("drain=%s: want on or off", s)
	}
	return s == "on", nil
}
