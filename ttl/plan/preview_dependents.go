package plan

import (
	"context"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// Dependent is a table of which rows go along with those of the one that is previewed, or lose their
// parent.
type Dependent struct {
	Name     string   `json:"table"` // quoted
	Depth    int      `json:"depth"` // how many tables stand above it
	Rows     int64    `json:"rows_due"`
	Orphans  bool     `json:"lose_parent,omitempty"`
	Triggers []string `json:"triggers,omitempty"` // that fire for these rows

	Table catalog.Table `json:"-"`
	Event string        `json:"-"` // for which they do; empty if the server cascades, and none fires
}

// readDependents reads what goes along with rows that are due.
func (v *preview) readDependents(ctx context.Context) error {
	if v.staying.Along() == nil {
		return nil
	}

	for _, m := range v.staying.Along().Members() {
		d := Dependent{
			Name: m.Name(), Depth: m.Depth, Rows: int64(float64(m.Rows) * v.due.Share()), Orphans: !m.Deletes,
			Table: catalog.Table{Schema: m.Schema, Name: m.Table}, Event: deletes,
		}
		if d.Orphans {
			d.Event = updates
		}
		if v.staying.Along().Cascades() {
			d.Event = ""
		}
		if !v.Brief && d.Event != "" {
			var err error
			if d.Triggers, err = triggersOf(ctx, v.q, m.Schema, m.Table, d.Event); err != nil {
				return fmt.Errorf("read triggers of %s: %w", m.Name(), err)
			}
		}
		v.dependents = append(v.dependents, d)
	}
	return nil
}

// text says how many rows of the table are concerned.
func (d Dependent) text() string {
	return fmt.Sprintf("about %d of %s (%d below)", d.Rows, d.Name, d.Depth)
}

// runs says of triggers that they run.
func (d Dependent) runs(triggers string) string {
	return fmt.Sprintf("triggers will run for every row of %s that is concerned: %s", d.Name, triggers)
}
