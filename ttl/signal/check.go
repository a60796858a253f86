package signal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-sql-driver/mysql"
)

// Checks are signals that the operator of a node gives it. They are options of the program and not
// settings: a query runs with the rights of the engine's account, and an address is asked from the
// proxy's machine, so no client may choose them. (A file that stops a node is an option of its own,
// which needs no server: --stop-file.)
type Checks struct {
	URL   string // holds unless it answers with 2xx
	Query string // its first value is the pressure: above 1 is too high
}

// Signals are those that are given.
func (c Checks) Signals() (all []Signal, err error) {
	if c.Query != "" {
		all = append(all, query{c.Query})
	}
	if c.URL != "" {
		w, err := newWebCheck(c.URL)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// query asks the server for a number.
type query struct{ text string }

func (query) Name() string { return "query" }

func (q query) Read(ctx context.Context, l Look) ([]Reading, error) {
	var value sql.NullFloat64
	switch err := l.Server.QueryRowContext(ctx, q.text).Scan(&value); {
	case errors.Is(err, mysql.ErrInvalidConn):
		return nil, fmt.Errorf("the connection was lost, as by an answer to the query of over 64 KiB: %w", err)
	case err != nil:
		return nil, fmt.Errorf("the query's answer is no number: %w", err)
	case !value.Valid:
		return nil, errors.New("the query's answer is NULL")
	case !finite(value.Float64): // as of a text, which may say NaN or Infinity
		return nil, fmt.Errorf("the query's answer is no number: %v", value.Float64)
	}
	return []Reading{{State: Measured, Value: value.Float64, Threshold: 1}}, nil
}

// webCheck holds unless an address says that all is well.
type webCheck struct {
	address string
	shown   string // without what may be a password
	client  *http.Client
}

func newWebCheck(address string) (webCheck, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return webCheck{}, errors.New("an address to check begins with http:// or https://, and names a host")
	}
	client := &http.Client{
		Transport: boundedTransport(),
		Timeout:   patience,
		// Where a redirection leads, nobody has said that it may be asked.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return webCheck{address, u.Host + u.EscapedPath(), client}, nil
}

func (webCheck) Name() string { return "web_check" }

func (w webCheck) Read(ctx context.Context, _ Look) ([]Reading, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := w.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s does not answer: %w", w.shown, errors.Unwrap(err))
	}
	defer response.Body.Close()

	r := Reading{Source: w.shown, State: Measured, Threshold: 1, Detail: "it answers " + response.Status}
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusMultipleChoices {
		r.State = Holds
	}
	return []Reading{r}, nil
}
