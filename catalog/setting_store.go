package catalog

import (
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

// Values returns all settings. What this version does not know is left out, what nobody has set has its default.
func (s *Store) Values(ctx context.Context) (Values, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectSettings))
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	out := DefaultValues()
	_, err = collect(rows, func(r *sql.Rows) (struct{}, error) {
		var name, value string
		err := r.Scan(&name, &value)
		if _, known := out[name]; known {
			out[name] = value
		}
		return struct{}{}, err
	})
	return out, err
}

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
			if err := s.record(ctx, tx, Event{Kind: EventSetting, Actor: actor, Text: name + " = " + values[name]}); err != nil {
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
