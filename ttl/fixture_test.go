package ttl

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// fixture is a bed for an engine.
type fixture struct{ *ttltest.Bed }

// newFixture turns the brake off: it would judge by what the server believes of a table that has
// just been filled, which may be anything. Tests of the brake turn it on.
func newFixture(t *testing.T, cfg *mysql.Config, rows int) *fixture {
	t.Helper()
	f := newBrakedFixture(t, cfg, rows)
	f.set(setting.BrakePercent, "100")
	return f
}

func newBrakedFixture(t *testing.T, cfg *mysql.Config, rows int) *fixture {
	t.Helper()
	return &fixture{ttltest.NewBed(t, cfg, rows)}
}
