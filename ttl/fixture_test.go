package ttl

import (
	"testing"

	"github.com/go-sql-driver/mysql"
)

// fixture is a bed for an engine.
type fixture struct{ *bed }

func newFixture(t *testing.T, cfg *mysql.Config, rows int) *fixture {
	t.Helper()
	return &fixture{newBed(t, cfg, rows)}
}
