package signal

import (
	"context"
	"database/sql"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// Signal is one thing that is watched.
type Signal interface {
	// Name is what readings, settings and metrics call it.
	Name() string
	// Read measures it now, within a second: one reading for each source, none if the settings turn
	// it off. An error makes it Unknown; a source for itself is Unknown by its own reading. It is
	// never asked a second time before it has answered.
	Read(ctx context.Context, l Look) ([]Reading, error)
}

// Doubter is a Signal of which it matters what is not known while Read does not answer.
type Doubter interface {
	// Doubtful names the sources that are Unknown then, by the settings of the last look; none if it does not know any.
	// It is asked at any time, also while Read is.
	Doubtful(l Look) []Reading
}

// Look is what a signal is given to measure with.
type Look struct {
	Server   Querier        // where rows are deleted
	Settings setting.Values // thresholds: those in force now
	Resting  bool           // hardly anything has been deleted since the last look: what is seen is not our doing
	Idle     bool           // there is nothing to delete
	Alone    bool           // nobody else is at work: nobody suffers, whatever takes long
	Led      time.Time      // since when whoever looks has done so without a break
}

// Querier asks a server. Several signals ask at once.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
