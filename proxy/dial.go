package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// keepAlive finds peers that have vanished without a word: after 60 s of silence, 5 questions at intervals of 10 s.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 60 * time.Second, Interval: 10 * time.Second, Count: 5}

// dial connects the session to the first backend that answers.
func (s *session) dial(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.server.config.DialTimeout)
	defer cancel()
	var errs []error
	for _, backend := range s.server.config.Backends {
		network, address := splitAddress(backend)
		d := net.Dialer{KeepAliveConfig: keepAlive}
		c, err := d.DialContext(ctx, network, address)
		if err == nil {
			tune(c)
			s.setBackend(c)
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("no backend can be reached: %w", errors.Join(errs...))
}
