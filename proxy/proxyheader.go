package proxy

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
)

// headerVersion is the version of the PROXY header that a backend is sent, 0 for none.
type headerVersion int

func parseHeaderVersion(s string) (headerVersion, error) {
	switch s {
	case "v1":
		return 1, nil
	case "v2":
		return 2, nil
	case "", "off":
		return 0, nil
	default:
		return 0, fmt.Errorf("proxy-protocol=%s: want v1, v2 or off", s)
	}
}

// header is the header that says that a connection is the client's. Both addresses must be IP
// addresses; otherwise, as on a unix socket or for a connection of our own, it says that the
// connection is ours.
func (v headerVersion) header(client, listener net.Addr) []byte {
	source, ok1 := addrPort(client)
	destination, ok2 := addrPort(listener)
	known := ok1 && ok2
	if known && source.Addr().Is4() != destination.Addr().Is4() {
		source, destination = widen(source), widen(destination)
	}

	switch {
	case v == 1 && !known:
		return []byte(headerLine + "UNKNOWN\r\n")
	case v == 1:
		family := "TCP6"
		if source.Addr().Is4() {
			family = "TCP4"
		}
		return fmt.Appendf(nil, headerLine+"%s %s %s %d %d\r\n",
			family, source.Addr(), destination.Addr(), source.Port(), destination.Port())
	case v == 2 && !known:
		return []byte(headerSignature + "\x20\x00\x00\x00")
	case v == 2:
		return headerV2(source, destination)
	default:
		return nil
	}
}

func headerV2(source, destination netip.AddrPort) []byte {
	from, to := source.Addr().AsSlice(), destination.Addr().AsSlice()
	family := byte(0x21)
	if source.Addr().Is4() {
		family = 0x11
	}
	dst := append([]byte(headerSignature), 0x21, family)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(from)+len(to)+4))
	dst = append(append(dst, from...), to...)
	dst = binary.BigEndian.AppendUint16(dst, source.Port())
	return binary.BigEndian.AppendUint16(dst, destination.Port())
}

// addrPort is the IP address in a, without a zone, and as IPv4 where it can be.
func addrPort(a net.Addr) (netip.AddrPort, bool) {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, false
	}
	p := t.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port()), p.Addr().IsValid()
}

// widen writes an IPv4 address as an IPv6 one, so that both addresses of a header are of one
// family.
func widen(p netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(p.Addr().As16()), p.Port())
}
