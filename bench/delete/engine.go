package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl"
)

// warmUp is how long an engine runs before it has something to do: it learns first what is usual on a server, and
// goes gently until then.
const warmUp = 3 * time.Second

// engine declares a policy and waits until the engine has carried it out. The clock runs from the
// declaration.
func engine(ctx context.Context, b *bench) (int, time.Duration, error) {
	return engineBy(ctx, b, b.keyOptions())
}

// census is engine for a table with an expiry queue, into which the rows go that stay.
func census(ctx context.Context, b *bench) (int, time.Duration, error) {
	return engineBy(ctx, b, map[string]string{ddl.OptionPlan: ddl.PlanQueue})
}

func engineBy(ctx context.Context, b *bench, options map[string]string) (int, time.Duration, error) {
	connector, err := catalog.Connector(b.cfg)
	if err != nil {
		return 0, 0, err
	}

	db := sql.OpenDB(connector)
	defer db.Close()

	if err := b.exec(ctx, "DROP DATABASE IF EXISTS "+schema+"_catalog"); err != nil {
		return 0, 0, err
	}

	store, err := catalog.Open(ctx, db, catalog.Config{Schema: schema + "_catalog"})
	if err != nil {
		return 0, 0, err
	}

	if err := store.Set(ctx, "bench", map[string]string{
		setting.BrakePercent: "100", setting.BatchTargetMS: strconv.Itoa(b.target),
		setting.ScanWorkerCount: strconv.Itoa(b.workers), setting.DeleteWorkerCount: strconv.Itoa(b.workers),
	}); err != nil {
		return 0, 0, err
	}

	registry := prometheus.NewRegistry()
	e, err := ttl.New(ttl.Config{Backend: b.cfg, Node: catalog.Node{Name: "bench"}, Tick: 200 * time.Millisecond},
		store, b.log, ttl.NewMetrics(registry))
	if err != nil {
		return 0, 0, err
	}

	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	select {
	case <-ctx.Done():
	case <-time.After(warmUp):
	}
	took, err := timed(func() error {
		if err := b.declare(ctx, store, options); err != nil {
			return err
		}
		return b.finished(ctx)
	})

	stop()
	if err := errors.Join(err, <-ended); err != nil {
		return 0, 0, err
	}

	b.logPhases(ctx, registry)
	return b.going, took, b.clean(context.WithoutCancel(ctx))
}

func (b *bench) declare(ctx context.Context, store *catalog.Store, options map[string]string) error {
	_, err := store.Declare(ctx, catalog.Client{Account: "bench"}, catalog.Declaration{
		Table: catalog.Table{Schema: schema, Name: "t"},
		Rule: catalog.Rule{
			Column: "made", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1h",
			TimeZone: "UTC", ZoneSource: catalog.ZoneFromTable, Options: options,
		},
	})
	return err
}

// finished waits for the end of a run's jobs, by a question that takes the server next to nothing.
func (b *bench) finished(ctx context.Context) (err error) {
	for err == nil {
		var ended int
		var state, reason string
		err = b.looking().QueryRowContext(ctx, "SELECT COUNT(*), COALESCE(MAX(NULLIF(state, '"+
			string(catalog.JobFinished)+"')), ''), COALESCE(MAX(reason), '') FROM "+schema+"_catalog.job_history").
			Scan(&ended, &state, &reason)
		switch {
		case err != nil:
		case state != "":
			return fmt.Errorf("a job ended as %s: %s", state, reason)
		case ended >= b.jobs:
			return nil
		}

		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return err
}

// logPhases shows what the workers spent their time on.
func (b *bench) logPhases(ctx context.Context, metrics prometheus.Gatherer) {
	families, err := metrics.Gather()
	if err != nil {
		b.log.LogAttrs(ctx, slog.LevelWarn, "no metrics", slog.Any("err", err))
		return
	}

	for _, family := range families {
		if family.GetName() != "ttlproxy_worker_phase_seconds_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			b.log.LogAttrs(ctx, slog.LevelInfo, "workers' time", slog.String("phase", m.GetLabel()[0].GetValue()),
				slog.Float64("seconds", m.GetCounter().GetValue()))
		}
	}
}
