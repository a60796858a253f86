package statement

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
)

// reachFor is how long a replica that somebody names may take to accept a connection.
const reachFor = time.Second

// reach warns of replicas that accept no connection: with a name that is mistyped, deletion stops for
// a reason that is seen much later. Whether it is the right server shows when it is asked.
func (c *checked) reach(ctx context.Context) {
	addresses := setting.Values(c.values).Hosts(setting.ThrottleReplicas)
	failed := make([]error, len(addresses))
	ctx, cancel := context.WithTimeout(ctx, reachFor)
	defer cancel()

	var all sync.WaitGroup
	for i, address := range addresses {
		all.Go(func() {
			var d net.Dialer
			conn, err := d.DialContext(ctx, "tcp", address)
			if failed[i] = err; err == nil {
				_ = conn.Close()
			}
		})
	}
	all.Wait()

	for i, err := range failed {
		if err != nil {
			c.notes = append(c.notes, proxy.Note{
				Level: "Warning", Code: ddl.CodeUnknownError,
				Message: fmt.Sprintf("ttlproxy: replica %s cannot be reached now: %v; while nobody knows how far it "+
					"is behind, %s decides", addresses[i], err, setting.ThrottleLagUnknown),
			})
		}
	}
}
