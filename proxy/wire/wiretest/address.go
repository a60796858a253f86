package wiretest

import (
	"fmt"
	"math/rand/v2"
	"runtime"
)

// OwnAddress is one to listen on that nobody else does, where the system allows for it: on Linux all of 127.0.0.0/8
// is local. A client that another test has forgotten, and that still dials the port of a server that is gone, does not
// come here; nor is a port taken by somebody else between two uses of it.
func OwnAddress() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1:0"
	}
	return fmt.Sprintf("127.%d.%d.%d:0", 1+rand.N(254), rand.N(256), 1+rand.N(254))
}
