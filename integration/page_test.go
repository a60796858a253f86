package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// page is the command `page`: it asks the status listener of a proxy until the answer matches.
func (s *story) page(ts *testscript.TestScript, args []string) error {
	if len(args) != 2 {
		return errors.New("page needs a path and a pattern")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	if err != nil {
		return err
	}

	client := statusClient(filepath.Join(s.work, "status"))
	client.Timeout = time.Minute
	defer client.CloseIdleConnections()

	for deadline := time.Now().Add(mysqltest.Patience); ; {
		text, err := bodyOf(context.Background(), client, args[0])
		if err == nil && pattern.MatchString(text) {
			fmt.Fprint(ts.Stdout(), text)
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v the page still says (%v):\n%s", mysqltest.Patience, err, text)
		}

		<-time.After(100 * time.Millisecond)
	}
}

// statusClient asks a status listener by its socket, whatever the address.
func statusClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
}

// bodyOf is the answer to a path.
func bodyOf(ctx context.Context, client *http.Client, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://proxy"+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}
