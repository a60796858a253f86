package setting

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// defaultPort is that of a server whose address names none.
const defaultPort = "3306"

// host is what the name of a host may consist of, and the zone of an address of IPv6.
var host = regexp.MustCompile(`^[0-9A-Za-z_.-]+$`)

// readHosts reads addresses that are separated by commas.
func readHosts(text string) (all []string, err error) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}

		name, port, ok := splitHost(part)
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n < 1 || !ok {
			return nil, fmt.Errorf("'%s' is not of the form HOST, HOST:PORT or [IPv6]:PORT", part)
		}
		all = append(all, net.JoinHostPort(name, port))
	}
	return all, nil
}

// splitHost is what an address consists of. One of IPv6 stands in brackets: db2::3306 is one as well, but hardly meant.
func splitHost(address string) (name, port string, ok bool) {
	inner, bracketed := strings.CutPrefix(address, "[")
	if !bracketed {
		name, port, ok = strings.Cut(address, ":")
		if !ok {
			port = defaultPort
		}
		return name, port, host.MatchString(name)
	}

	name, rest, closed := strings.Cut(inner, "]")
	if rest == "" {
		rest = ":" + defaultPort
	}
	port, ok = strings.CutPrefix(rest, ":")
	ip, err := netip.ParseAddr(name)
	return name, port, closed && ok && err == nil && (ip.Zone() == "" || host.MatchString(ip.Zone()))
}
