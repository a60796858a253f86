package ttl

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/family"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestForestsWhateverDies: of random forests exactly those rows go that have expired, with all that
// depend on them or if nothing does, while applications write, nodes leave and connections are killed.
// `make chaos` has the same with processes and servers.
func TestForestsWhateverDies(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, c := range map[string]ttltest.ForestConfig{
			"children": {Seed: 1, Rows: 60, Most: 300},
			"in parts": {Seed: 2, Rows: 60, Most: 300, Parts: true},
			"skip":     {Seed: 3, Rows: 60, Most: 20, Skip: true},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				c.DB, c.Schema = f.Admin, f.Schema
				f.grow(ttltest.NewForest(t, c))
			})
		}
	})
}

func (f *fixture) grow(forest *ttltest.Forest) {
	f.T.Helper()
	f.set(setting.BrakeFactor, "0")
	f.set(setting.MaxChildren, map[bool]string{true: "20", false: "10000"}[forest.Parts])
	f.rooted(forest)

	stay, leave := sync.OnceFunc(f.run(nil)), f.run(nil)
	defer stay()
	var all sync.WaitGroup
	for app := range uint64(2) {
		all.Go(func() { forest.Work(f.T.Context(), app, 150) })
	}
	all.Go(f.killSessions)
	all.Wait()
	leave()

	f.Wait("what has expired to go", func() bool {
		n, err := forest.Expired(f.T.Context())
		if err != nil {
			f.T.Fatal(err)
		}
		return n == 0
	})
	stay()

	gone := forest.Check()
	counted := f.Number(f.In("SELECT (SELECT COALESCE(SUM(deleted), 0) FROM {t}_c.job_history) + " +
		"(SELECT COALESCE(SUM(deleted), 0) FROM {t}_c.task)"))
	if counted == 0 || gone >= 0 && gone != counted {
		f.T.Errorf("%d rows count as deleted, and %d have gone", counted, gone)
	}
	if why := f.Text(f.In("SELECT COALESCE(MAX(reason), '') FROM {t}_c.row_error")); why != "" {
		f.T.Errorf("a row counts as undeletable: %s", why)
	}
}

// rooted declares the policy on the root of a forest, as somebody who may delete from all of it.
func (f *fixture) rooted(forest *ttltest.Forest) {
	f.T.Helper()
	options := map[string]string{ddl.OptionForeignKeys: ddl.ForeignKeysSkip, ddl.OptionBatchSize: "30"}
	if !forest.Skip {
		text, err := json.Marshal(f.consents(f.T.Context()))
		if err != nil {
			f.T.Fatal(err)
		}
		options[ddl.OptionForeignKeys], options[ddl.OptionDependents] = ddl.ForeignKeysChildren, string(text)
	}

	_, err := f.Store.Declare(f.T.Context(), catalog.Client{Account: "test"}, catalog.Declaration{
		Table: catalog.Table{Schema: f.Schema, Name: "w0"},
		Rule: catalog.Rule{
			Column: "at", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1s",
			TimeZone: "UTC", ZoneSource: catalog.ZoneFromTable, Options: options,
		},
	})
	if err != nil {
		f.T.Fatal(err)
	}
}

func (f *fixture) consents(ctx context.Context) []string {
	f.T.Helper()
	facts, err := tables.ReadFacts(ctx, f.Admin, f.Schema, "w0")
	if err != nil {
		f.T.Fatal(err)
	}
	all, why, err := family.Read(ctx, f.Admin, &facts.Layout, facts.Children)
	if err != nil || why != "" {
		f.T.Fatal(fmt.Sprint(why, err))
	}
	return all.Consents()
}
