package status

import (
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// serverName is the backend as people call it.
func serverName(v catalog.Server) string {
	flavour := "MySQL"
	if v.MariaDB {
		flavour = "MariaDB"
	}
	return fmt.Sprintf("%s %s at %s:%d", flavour, shortVersion(v.Version), v.Host, v.Port)
}

// shortVersion leaves out what distributions add: 10.11.14 of 10.11.14-MariaDB-0+deb12u2.
func shortVersion(version string) string {
	for i, c := range version {
		if c != '.' && (c < '0' || c > '9') {
			return version[:i]
		}
	}
	return version
}
