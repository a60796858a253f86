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
	said map[string]bool
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

// Set stores values that Check has returned, by name, all or none of them. When ttl_job_enable was switched off, no further
// row goes once this has answered.
func (s *Store) Set(ctx context.Context, actor string, values map[string]string) error {
	return s.tx(ctx, "set", func(tx *sql.Tx) error {
		if values[JobEnable] == "OFF" {
			if err := s.endAllJobs(ctx, tx, JobCancelled, JobEnable+" is OFF"); err != nil {
				return err
			}
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

// Seed stores initial values from a configuration file for settings that nobody has set yet.
func (s *Store) Seed(ctx context.Context, actor string, values map[string]string) error {
	return s.tx(ctx, "seed settings", func(tx *sql.Tx) error {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if _, err := s.exec(ctx, tx, insertInitialSetting, name, values[name], actor); err != nil {
				return err
			}
		}
		return nil
	})
}
