package proxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
)

// The PROXY protocol (https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt) tells the
// receiver of a connection who is really behind it. Version 1 is a line of text, version 2 a binary
// block. Both are read by exact length: what follows belongs to the login, perhaps to TLS.
const (
	headerSignature = "\r\n\r\n\x00\r\nQUIT\n" // of version 2
	headerLine      = "PROXY "                 // of version 1
	headerLineLimit = 107                      // of version 1, with the line's end
	headerLimit     = 4 << 10                  // of what follows the fixed part of version 2
	headerFixed     = 16                       // of version 2
)

var errNoHeader = errors.New("no PROXY header: either the sender is to send one, or its network is not to be listed")

// readHeader reads a PROXY header and returns the address of the client that it names. It returns
// nil if the sender speaks for itself (LOCAL, UNKNOWN), as health checks do.
func readHeader(r io.Reader) (net.Addr, error) {
	// No header is shorter than a signature: the shortest of version 1 is "PROXY UNKNOWN" and the
	// line's end.
	b := make([]byte, len(headerSignature), headerLineLimit)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fmt.Errorf("%w (%w)", errNoHeader, err)
	}

	switch {
	case string(b) == headerSignature:
		return readHeaderV2(r)
	case strings.HasPrefix(string(b), headerLine):
		return readHeaderV1(r, b)
	default:
		return nil, errNoHeader
	}
}

// readHeaderV1 reads the rest of the line, of which b is the beginning.
func readHeaderV1(r io.Reader, b []byte) (net.Addr, error) {
	for !bytes.HasSuffix(b, []byte("\r\n")) {
		if len(b) == headerLineLimit {
			return nil, errors.New("PROXY header: the line does not end")
		}
		b = b[:len(b)+1]
		if _, err := io.ReadFull(r, b[len(b)-1:]); err != nil {
			return nil, fmt.Errorf("PROXY header: %w", err)
		}
	}

	f := strings.Split(string(b[len(headerLine):len(b)-2]), " ")
	if f[0] == "UNKNOWN" {
		return nil, nil //nolint:nilnil // nobody else than the sender
	}
	if len(f) != 5 || f[0] != "TCP4" && f[0] != "TCP6" {
		return nil, fmt.Errorf("PROXY header: cannot read %q", b)
	}

	source, err := netip.ParseAddrPort(net.JoinHostPort(f[1], f[3]))
	if err != nil {
		return nil, fmt.Errorf("PROXY header: %w", err)
	}

	return net.TCPAddrFromAddrPort(source), nil
}

// readHeaderV2 reads what follows the signature: version and command, family, length, addresses,
// and anything else, which is skipped.
func readHeaderV2(r io.Reader) (net.Addr, error) {
	var fixed [headerFixed - len(headerSignature)]byte
	if _, err := io.ReadFull(r, fixed[:]); err != nil {
		return nil, fmt.Errorf("PROXY header: %w", err)
	}

	size := int(binary.BigEndian.Uint16(fixed[2:]))
	if size > headerLimit {
		return nil, fmt.Errorf("PROXY header: %d bytes, at most %d are allowed", size, headerLimit)
	}

	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fmt.Errorf("PROXY header: %w", err)
	}

	switch version, command := fixed[0]>>4, fixed[0]&0xF; {
	case version != 2 || command > 1:
		return nil, fmt.Errorf("PROXY header: version %d, command %d: want version 2, LOCAL or PROXY", version, command)
	case command == 0:
		return nil, nil //nolint:nilnil // LOCAL: nobody else than the sender
	}

	return headerSource(fixed[1], b)
}

// headerSource reads the client's address in version 2. Addresses of a family other than IP are of
// no use.
func headerSource(family byte, b []byte) (net.Addr, error) {
	var size int
	switch family {
	case 0x11:
		size = net.IPv4len
	case 0x21:
		size = net.IPv6len
	default:
		return nil, nil //nolint:nilnil // UNSPEC, UNIX, or datagrams
	}

	if len(b) < 2*size+4 {
		return nil, fmt.Errorf("PROXY header: %d bytes of addresses, want %d", len(b), 2*size+4)
	}

	ip, _ := netip.AddrFromSlice(b[:size])
	port := binary.BigEndian.Uint16(b[2*size:])
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, port)), nil
}

// networks are those whose PROXY headers are believed.
type networks struct {
	prefixes []netip.Prefix
	unix     bool
}

// parseNetworks reads addresses, CIDR prefixes, and the word unix for all clients of a unix socket.
func parseNetworks(list []string) (networks, error) {
	var n networks
	for _, s := range list {
		if s == "unix" {
			n.unix = true
			continue
		}

		p, err := netip.ParsePrefix(s)
		if err != nil {
			a, addrErr := netip.ParseAddr(s)
			if addrErr != nil {
				return n, fmt.Errorf("network %q: want an address, a prefix such as 10.0.0.0/8, or unix", s)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}

		n.prefixes = append(n.prefixes, p.Masked())
	}

	return n, nil
}

// contain reports whether the address belongs to one of the networks.
func (n networks) contain(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return n.unix
	}
	ip := t.AddrPort().Addr().Unmap()
	for _, p := range n.prefixes {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}
