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

	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(s.work, "status"))
		},
	}}
	defer client.CloseIdleConnections()

	for deadline := time.Now().Add(mysqltest.Patience); ; {
		text, err := bodyOf(&client, "http://proxy"+args[0])
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

func bodyOf(client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
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
