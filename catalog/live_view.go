package catalog

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
)

// LiveView is a view that TTL_VIEW keeps: it shows the rows of its table that have not expired.
type LiveView struct {
	View  Table
	Table Table // in the same schema
	// Definition tells whether the view is still the one that was made: a hash of what the server
	// shows.
	Definition string
}

// HashDefinition makes a definition what a LiveView remembers.
func HashDefinition(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// LiveViews returns all views that were made and not dropped since, as far as we know.
func (s *Store) LiveViews(ctx context.Context) ([]LiveView, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectLiveViews))
	if err != nil {
		return nil, fmt.Errorf("read views of TTL_VIEW: %w", err)
	}
	return collect(rows, func(r *sql.Rows) (v LiveView, err error) {
		err = r.Scan(&v.View.Schema, &v.View.Name, &v.Table.Name, &v.Definition)
		v.Table.Schema = v.View.Schema
		return v, err
	})
}

// KeepLiveView remembers a view that has been made, or made anew.
func (s *Store) KeepLiveView(ctx context.Context, account string, v LiveView) error {
	view, table := s.Stored(v.View), s.Stored(v.Table)
	_, err := s.exec(ctx, s.db, upsertLiveView, view.Schema, view.Name, table.Name, v.Definition, account)
	if err != nil {
		return fmt.Errorf("remember view %s: %w", view, err)
	}
	return nil
}

// ForgetLiveView forgets a view that is gone, or that is not ours any more.
func (s *Store) ForgetLiveView(ctx context.Context, view Table) error {
	view = s.Stored(view)
	if _, err := s.exec(ctx, s.db, deleteLiveView, view.Schema, view.Name); err != nil {
		return fmt.Errorf("forget view %s: %w", view, err)
	}
	return nil
}
