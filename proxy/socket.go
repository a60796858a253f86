package proxy

import (
	"net"
	"time"
)

// keepAlive finds peers that have vanished without a word: after 60 s of silence, 5 probes at
// intervals of 10 s.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 60 * time.Second, Interval: 10 * time.Second, Count: 5}
