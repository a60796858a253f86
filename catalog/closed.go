package catalog

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
)

// Closed returns a catalog that cannot be used yet, or no longer: each of its methods fails with
// the present reason. It stands in for a Store while there is none.
func Closed(reason func() error) *Store {
	s := &Store{
		db: pool{sql.OpenDB(refusal(reason)), NewMetrics(nil)}, schema: DefaultSchema,
		tables: strings.NewReplacer(),
	}
	s.server.Store(&Server{})
	return s
}

// refusal connects to nothing.
type refusal func() error

// Connect fails with the reason.
func (r refusal) Connect(context.Context) (driver.Conn, error) { return nil, r() }

// Driver returns what the interface asks for.
func (r refusal) Driver() driver.Driver { return r }

// Open fails with the reason.
func (r refusal) Open(string) (driver.Conn, error) { return nil, r() }
