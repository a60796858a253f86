package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// errNotReady ends `ttlproxy ready` with 1; the reason has been printed.
var errNotReady = errors.New("the proxy is not ready for clients")

// ready is `ttlproxy ready`: it asks a proxy that runs here.
func ready(ctx context.Context, w world, o *options, _ []string) error {
	if o.Status == "" {
		return usagef("which proxy? Name its status address with --status HOST:PORT or unix:PATH")
	}

	network, address := "tcp", o.Status
	if path, ok := strings.CutPrefix(o.Status, "unix:"); ok {
		network, address = "unix", path
	}

	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()

	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error,
	) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://ttlproxy/readyz", http.NoBody)
	if err != nil {
		return err
	}

	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask %s: %w", o.Status, errors.Unwrap(err)) // the URL around it is made up
	}
	defer answer.Body.Close()

	if _, err := io.Copy(w.stdout, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errNotReady
	}

	return nil
}
