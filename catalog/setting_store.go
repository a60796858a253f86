package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// Values returns all settings. What this version does not know is left out, what nobody has set has
// its default.
func (s *Store) Values(ctx context.Context) (setting.Values, error) {
	all, err := s.Settings(ctx)
	return all.Values, err
}

// Settings returns the values of all settings, and which of them somebody has set.
func (s *Store) Settings(ctx context.Context) (setting.Reading, error) {
	var revision uint64
	if err := s.db.QueryRowContext(ctx, s.sql(selectRevision)).Scan(&revision); err != nil { // before the values
		return setting.NewReading(0), fmt.Errorf("read the revision of the settings: %w", err)
	}

	all := setting.NewReading(revision)

	rows, err := s.db.QueryContext(ctx, s.sql(selectSettings))
	if err != nil {
		return all, fmt.Errorf("read settings: %w", err)
	}

	_, err = collect(rows, func(r *sql.Rows) (struct{}, error) {
		var name, value string
		if err := r.Scan(&name, &value); err != nil {
			return struct{}{}, err
		}
		all.Take(name, value)
		return struct{}{}, nil
	})

	return all, err
}

// Set stores values that Check has returned, by name, all or none of them. Once it has returned, no
// further row is deleted under the old values, on any node: each planned batch is barred, and tasks
// are given only to workers that have read the new ones.
func (s *Store) Set(ctx context.Context, actor string, values map[string]string) error {
	return s.tx(ctx, "set", func(tx *sql.Tx) error {
		if err := s.newRevision(ctx, tx); err != nil {
			return err
		}
		if err := s.endOutdated(ctx, tx, values); err != nil {
			return err
		}

		for _, name := range slices.Sorted(maps.Keys(values)) {
			if _, err := s.exec(ctx, tx, upsertSetting, name, values[name], actor); err != nil {
				return err
			}
			if err := s.record(ctx, tx,
				Event{
					Kind: EventSetting, Actor: actor,
					Text: name + " = " + cmp.Or(values[name], "DEFAULT"),
				}); err != nil {
				return err
			}
		}

		return nil
	})
}

// newRevision bars every batch that was planned by the settings as they are.
func (s *Store) newRevision(ctx context.Context, tx *sql.Tx) error {
	if err := s.barAll(ctx, tx); err != nil {
		return err
	}
	_, err := s.exec(ctx, tx, bumpRevision)
	return err
}

// endOutdated ends the jobs that cannot go on with new values: all, if they are switched off or a
// value changes that is written into each of them.
func (s *Store) endOutdated(ctx context.Context, tx *sql.Tx, values map[string]string) error {
	if values[setting.JobEnable] == "OFF" {
		return s.endJobs(ctx, tx, PauseAll, JobCancelled, setting.JobEnable+" is OFF")
	}

	for _, name := range []string{setting.DateFloor, setting.EnableIndexScan} {
		next, given := values[name]
		if !given {
			continue
		}

		before, err := s.value(ctx, tx, name)
		if err != nil {
			return err
		}
		if cmp.Or(next, setting.Defaults()[name]) != before {
			return s.replanJobs(ctx, tx, name+" was changed")
		}
	}

	return nil
}

// value is one setting as it is now.
func (s *Store) value(ctx context.Context, tx *sql.Tx, name string) (string, error) {
	var value string
	err := tx.QueryRowContext(ctx, s.sql(selectSetting), name).Scan(&value)
	if isNoRows(err) {
		err = nil
	}
	return cmp.Or(value, setting.Defaults()[name]), err
}
