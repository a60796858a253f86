package catalog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// service creates the account that Grants describes and returns how it connects.
func (b *bench) service(t *testing.T, user string) *mysql.Config {
	t.Helper()
	account := ServiceAccount{User: user, Password: "s3cret", Catalog: b.Schema(), Schemas: []string{b.user}}
	for _, g := range account.Grants(b.Server().MariaDB) {
		b.exec(t, g.SQL)
	}

	t.Cleanup(func() {
		if _, err := b.db.Exec("DROP USER " + user); err != nil {
			t.Error(err)
		}
	})

	cfg := b.cfg.Clone()
	cfg.User, cfg.Passwd = user, "s3cret"
	return cfg
}

func TestServiceAccountCanDoEverythingItHasTo(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		table := b.table(t, "a")
		b.exec(t, "DROP DATABASE "+b.Schema())
		account := *b
		account.db = openDB(t, b.service(t, "svc_"+b.user))

		store, err := Open(t.Context(), account.db, Config{Schema: b.Schema(), Version: "test"})
		if err != nil {
			t.Fatal("make the catalog:", err)
		}

		account.Store = store
		p := account.declare(t, table)
		if ids, err := store.Identities(t.Context(), p.ID); err != nil || ids[0].TableID == 0 {
			t.Errorf("got identities %+v, %v, want the table's id to be visible", ids, err)
		}

		job := account.job(t, p, 1)
		if _, err := store.ClaimTask(t.Context(), Claim{Node: account.node(t)}); err != nil {
			t.Error(err)
		}
		if err := store.FinishJob(t.Context(), job.ID, job.Fence, JobFailed, "x"); err != nil {
			t.Error(err)
		}
		if _, err := store.Sweep(t.Context()); err != nil {
			t.Error(err)
		}

		lease, err := store.Acquire(t.Context(), "scheduler", account.node(t), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Keep(t.Context(), lease, time.Minute, 1); err != nil {
			t.Error(err)
		}
	})
}

func TestDamagedCatalogIsNamed(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		cfg := Config{Schema: b.Schema()}
		b.exec(t, "DROP TABLE {lineage}")
		if _, err := Open(t.Context(), b.db, cfg); !errors.Is(err, ErrDamagedCatalog) {
			t.Errorf("a table is gone: got %v, want %v", err, ErrDamagedCatalog)
		}
	})
}

func TestExportBringsPoliciesBack(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		if err := b.Disarm(t.Context(), "dba", p.ID, p.Version, "the table\nwas replaced"); err != nil {
			t.Fatal(err)
		}

		got, err := b.Export(t.Context())
		want := "-- disarmed: the table was replaced\n-- dates are in zone UTC, from the server\n" +
			"ALTER TABLE `" + b.user + "`.`a` TTL=`at` + INTERVAL 1 DAY TTL_ENABLE='OFF' TTL_JOB_INTERVAL='1h';\n"
		if err != nil || got != want {
			t.Errorf("got %q, %v\nwant %q", got, err, want)
		}
	})
}

// A policy that waits for approval, as after a restore, comes back switched off.
func TestExportKeepsHolds(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		rule := testRule()
		rule.TimeZone, rule.ZoneSource = "UTC", ZoneFromTable
		if _, err := b.Declare(t.Context(), b.client(),
			Declaration{Table: b.table(t, "a"), Rule: rule, FromDump: true}); err != nil {
			t.Fatal(err)
		}

		got, err := b.Export(t.Context())
		want := "-- waits for approval: the table came from a dump\n" +
			"ALTER TABLE `" + b.user +
			"`.`a` TTL=`at` + INTERVAL 1 DAY TTL_ENABLE='OFF' TTL_JOB_INTERVAL='1h' TTL_TIME_ZONE='UTC';\n"
		if err != nil || got != want {
			t.Errorf("got %q, %v\nwant %q", got, err, want)
		}
	})
}

// A policy that is disarmed comes back switched off, also when a statement is changing its table
// while the export is made.
func TestExportKeepsWhatIsDisarmedOff(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		if err := b.Disarm(t.Context(), "dba", p.ID, p.Version, "a test"); err != nil {
			t.Fatal(err)
		}

		staged := b.stage(t, Intent{Kind: IntentAlter, Table: p.Table})

		if got, err := b.Export(t.Context()); err != nil || !strings.Contains(got, "TTL_ENABLE='OFF'") {
			t.Errorf("got %q, %v, want it switched off", got, err)
		}
		if err := staged.Discard(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestExportKeepsWhatIsNotUnderstood: it may be a limit, so whoever restores it must know of it.
func TestExportKeepsWhatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		for name, value := range map[string]string{
			setting.BrakePercent: "most", setting.RateSchedule: "slow; it's night", setting.AllowReplica: "perhaps",
		} {
			if err := b.Set(t.Context(), "dba", map[string]string{name: value}); err != nil {
				t.Fatal(err)
			}
		}
		want := "SET GLOBAL ttl_rate_schedule = 'slow; it''s night';\nSET GLOBAL ttl_brake_percent = 'most';\n" +
			"SET GLOBAL ttl_allow_replica = 'perhaps';\n"
		if got, err := b.Export(t.Context()); err != nil || got != want {
			t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
		}
	})
}

// What was paused or limited stays so when it comes back: a policy is switched on only behind its
// pause, and its dates are read in the same zone.
func TestExportKeepsPausesAndSettings(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		over := time.Now().Add(-time.Hour)
		for _, err := range []error{
			b.Set(t.Context(), "dba", map[string]string{
				setting.DeleteRowsLimit: "500", setting.JobEnable: "OFF",
				setting.DefaultTimeZone: "Europe/Berlin",
			}),
			b.Pause(t.Context(), "dba@%", PauseAll, "", time.Time{}),
			b.Pause(t.Context(), "ann@%", p.ID, "", time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)),
			b.Pause(t.Context(), "bob@%", b.declare(t, b.table(t, "b")).ID, "", over),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}

		got, err := b.Export(t.Context())
		zone := "-- dates are in zone UTC, from the server\n"
		want := "SET GLOBAL ttl_job_enable = OFF;\nSET GLOBAL ttl_delete_rows_limit = 500;\nSET GLOBAL " +
			"ttl_default_time_zone = 'Europe/Berlin';\n" +
			"-- paused by dba@%\nPAUSE TTL;\n" +
			zone + "-- paused by ann@%, until 2999-01-01 00:00:00+00:00\n" +
			"ALTER TABLE $.`a` TTL=`at` + INTERVAL 1 DAY TTL_ENABLE='OFF' TTL_JOB_INTERVAL='1h' TTL_TIME_ZONE='UTC';\n" +
			"PAUSE TTL FOR $.`a`;\nALTER TABLE $.`a` TTL_ENABLE='ON';\n" +
			zone +
			"ALTER TABLE $.`b` TTL=`at` + INTERVAL 1 DAY TTL_ENABLE='ON' TTL_JOB_INTERVAL='1h' TTL_TIME_ZONE='UTC';\n"
		if want = strings.ReplaceAll(want, "$", "`"+b.user+"`"); err != nil || got != want {
			t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
		}
	})
}
