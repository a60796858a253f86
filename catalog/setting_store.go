package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Values are the settings as they are now, by name, all of them.
type Values map[string]string

// DefaultValues are the settings of a catalog in which nothing was set.
func DefaultValues() Values {
	v := Values{}
	for _, s := range AllSettings() {
		v[s.Name] = s.Default
	}
	return v
}

// Bool returns whether a setting is ON.
func (v Values) Bool(name string) bool { return v[name] == "ON" }

// Int returns a number.
func (v Values) Int(name string) int64 {
	n, err := strconv.ParseInt(v[name], 10, 64)
	if err != nil {
		n, _ = strconv.ParseInt(DefaultValues()[name], 10, 64)
	}
	return n
}

// Duration returns a length of time.
func (v Values) Duration(name string) time.Duration {
	d, err := ddl.Duration(v[name])
	if err != nil {
		d, _ = ddl.Duration(DefaultValues()[name])
	}
	return d
}

// Settings are the values together with what is known about them.
type Settings struct {
	Values
	// Revision is refused, once a setting has been changed, of everybody who wants to delete by the values before.
	Revision uint64
	said     map[string]bool
}

// Said reports whether somebody has set a setting, be it to its default.
func (s Settings) Said(name string) bool { return s.said[name] }

// Bound is a number that limits something only once it has been set; 0 for no limit.
func (s Settings) Bound(name string) int {
	if !s.Said(name) {
		return 0
	}
	return int(s.Int(name))
}

// Values returns all settings. What this version does not know is left out, what nobody has set has its default.
func (s *Store) Values(ctx context.Context) (Values, error) {
	all, err := s.Settings(ctx)
	return all.Values, err
}

// Settings returns the values of all settings, and which of them somebody has set.
func (s *Store) Settings(ctx context.Context) (Settings, error) {
	all := Settings{Values: DefaultValues(), said: map[string]bool{}}
	if err := s.db.QueryRowContext(ctx, s.sql(selectRevision)).Scan(&all.Revision); err != nil { // before the values
		return all, fmt.Errorf("read the revision of the settings: %w", err)
	}

	rows, err := s.db.QueryContext(ctx, s.sql(selectSettings))
	if err != nil {
		return all, fmt.Errorf("read settings: %w", err)
	}
	_, err = collect(rows, func(r *sql.Rows) (struct{}, error) {
		var name, value string
		err := r.Scan(&name, &value)
		if _, known := all.Values[name]; known && value != Unset {
			all.Values[name], all.said[name] = value, true
		}
		return struct{}{}, err
	})
	return all, err
}

// Unset is the value that takes a setting back to its default, as if nobody had ever set it.
const Unset = ""

// Set stores values that Check has returned, by name, all or none of them. Once it has answered no further row goes by the values
// before, on any node: each batch that was planned is barred, and tasks are given only to workers that have read the new ones.
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
			if err := s.record(ctx, tx, Event{Kind: EventSetting, Actor: actor, Text: name + " = " + cmp.Or(values[name], "DEFAULT")}); err != nil {
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

// endOutdated ends the jobs that can not go on by new values: all when they are switched off, and when one changes that is written
// into each of them.
func (s *Store) endOutdated(ctx context.Context, tx *sql.Tx, values map[string]string) error {
	if values[JobEnable] == "OFF" {
		return s.endJobs(ctx, tx, PauseAll, JobCancelled, JobEnable+" is OFF")
	}

	for _, name := range []string{DateFloor, EnableIndexScan} {
		next, given := values[name]
		if !given {
			continue
		}
		before, err := s.value(ctx, tx, name)
		if err != nil {
			return err
		}
		if cmp.Or(next, DefaultValues()[name]) != before {
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
	return cmp.Or(value, DefaultValues()[name]), err
}

// Seed stores initial values from a configuration file for settings that nobody has set yet.
func (s *Store) Seed(ctx context.Context, actor string, values map[string]string) error {
	return s.tx(ctx, "seed settings", func(tx *sql.Tx) error {
		var stored int64
		for _, name := range slices.Sorted(maps.Keys(values)) {
			n, err := s.exec(ctx, tx, insertInitialSetting, name, values[name], actor)
			if err != nil {
				return err
			}
			stored += n
		}
		if stored == 0 {
			return nil
		}
		return s.newRevision(ctx, tx)
	})
}
