package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// service is the proxy's own account on the server, its password, and the schema of its catalog.
const service = "ttlproxy"

// ways are the two ways to the server.
type ways struct {
	relay, proxy string // addresses
	stop         func() // ends both, and returns when they have ended
}

// openWays starts a relay, and the program as it would be started in front of any server.
func openWays(ctx context.Context, program, server string) (*ways, error) {
	free, err := sandbox.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}

	ctx, cancel := context.WithCancel(ctx)
	plain, err := newRelay(ctx, server)
	if err != nil {
		cancel()
		return nil, err
	}

	relayed := make(chan struct{})
	go func() {
		defer close(relayed)
		plain.run(ctx)
	}()
	w := &ways{relay: plain.address(), proxy: free.String()}
	cmd := exec.CommandContext(ctx, program, "serve", "--listen", w.proxy, "--backend", server, "--engine-user",
		service, "--engine=off", "--log-level=warn", "--drain-timeout=1s", "--tls-self-signed=on")
	cmd.Env = append(os.Environ(), "TTLPROXY_ENGINE_PASSWORD="+service)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }

	cmd.WaitDelay = 5 * time.Second
	if err = cmd.Start(); err == nil {
		err = awaitGreeting(ctx, w.proxy)
	}

	w.stop = func() {
		cancel()
		if cmd.Process != nil {
			_ = cmd.Wait() // it was told to end
		}
		<-relayed
	}

	if err != nil {
		w.stop()
		return nil, err
	}

	return w, nil
}

// awaitGreeting waits until a server's greeting can be read at an address.
func awaitGreeting(ctx context.Context, address string) error {
	var d net.Dialer
	var err error
	for range 400 {
		var c net.Conn
		if c, err = d.DialContext(ctx, "tcp", address); err == nil {
			_, _, err = wire.ReadPacket(c, nil, wire.MaxPayload)
			c.Close()
		}
		if err == nil {
			return nil
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}

	return fmt.Errorf("the proxy does not answer: %w", err)
}
