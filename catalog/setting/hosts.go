package setting

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
)

// defaultPort is that of a server whose address names none.
const defaultPort = "3306"

// host is what the name of a host, or its address, may consist of.
var host = regexp.MustCompile(`^[0-9A-Za-z_.:%-]+$`)

// readHosts reads addresses that are separated by commas.
func readHosts(text string) (all []string, err error) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}

		name, port, err := net.SplitHostPort(part)
		if err != nil {
			name, port = strings.Trim(part, "[]"), defaultPort
		}
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || !host.MatchString(name) {
			return nil, fmt.Errorf("'%s' is not of the form HOST or HOST:PORT", part)
		}
		all = append(all, net.JoinHostPort(name, port))
	}
	return all, nil
}
