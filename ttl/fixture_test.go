package ttl

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// fixture is a bed for an engine.
type fixture struct{ *ttltest.Bed }

func newFixture(t *testing.T, cfg *mysql.Config, rows int) *fixture {
	t.Helper()
	return &fixture{ttltest.NewBed(t, cfg, rows)}
}
