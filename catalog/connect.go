package catalog

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Connector returns what to give to sql.OpenDB for the catalog's connections: as cfg says, with
// sessions that are the same whatever the server's globals are (see pins), that wait at most two
// seconds for a lock, and that on a cluster read what has been committed anywhere. Extra statements
// run on each new session.
func Connector(cfg *mysql.Config, extra ...string) (driver.Connector, error) {
	cfg = cfg.Clone()
	cfg.ParseTime = true
	cfg.InterpolateParams = true
	cfg.ClientFoundRows = true // a compare-and-set that changes nothing has matched all the same
	cfg.ConnectionAttributes = "program_name:ttlproxy"
	inner, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("backend address: %w", err)
	}
	return &connector{Connector: inner, setup: slices.Concat(pins, sessionSetup, extra)}, nil
}

// connector sets up each session it opens.
type connector struct {
	driver.Connector
	setup   []string
	refused atomic.Uint64 // how often a session could not write, see session
}

// Connect opens a session and sets it up. A variable the server does not know is not needed there.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}

	exec, ok := conn.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(errors.New("driver cannot run statements"), conn.Close())
	}

	for _, q := range c.setup {
		if _, err := exec.ExecContext(ctx, q, nil); err != nil && !isServerError(err, ddl.CodeUnknownVariable) {
			return nil, errors.Join(fmt.Errorf("set up session: %w", err), conn.Close())
		}
	}

	whole, ok := conn.(connection)
	if !ok {
		return nil, errors.Join(errors.New("driver lacks what sessions need"), conn.Close())
	}
	return &session{connection: whole, of: c, refused: c.refused.Load()}, nil
}
