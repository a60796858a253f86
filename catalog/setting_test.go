package catalog

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

func TestDefaultsAreValid(t *testing.T) {
	t.Parallel()
	for _, s := range AllSettings() {
		stored, warning, refusal := s.Check(s.Default, time.UTC)
		if stored != s.Default || warning != nil || refusal != nil {
			t.Errorf("%s: got %q, %v, %v for its default %q", s.Name, stored, warning, refusal, s.Default)
		}
		if s.Text == "" || s.Scope == "" || s.Name != strings.ToLower(s.Name) {
			t.Errorf("%s: incomplete row %+v", s.Name, s)
		}
	}
}

func TestSettingIsFoundByBothNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ttl_job_enable": JobEnable, "TIDB_TTL_Job_Enable": JobEnable, "ttl_brake_rows": BrakeRows, "tidb_ttl_brake_rows": "", "": "",
	} {
		if got, found := FindSetting(name); got.Name != want || found != (want != "") {
			t.Errorf("%q: got %q, want %q", name, got.Name, want)
		}
	}
}

func TestCheckFollowsTiDBAndMySQL(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("", 2*60*60)
	for _, c := range []struct {
		name, value, want string
		warning, refusal  uint16
	}{
		{JobEnable, "off", "OFF", 0, 0},
		{JobEnable, "1", "ON", 0, 0},
		{JobEnable, "maybe", "", 0, 1231},
		{ScanBatchSize, "0", "1", 1292, 0},
		{ScanBatchSize, "99999", "10240", 1292, 0},
		{ScanBatchSize, "many", "", 0, 1232},
		{ScanBatchSize, "1.5", "", 0, 1232},
		{DeleteRateLimit, "9223372036854775808", "9223372036854775807", 1292, 0},
		{RunningTasks, "-1", "-1", 0, 0},
		{RunningTasks, "0", "1", 1292, 0},
		{RunningTasks, "-2", "1", 1292, 0},
		{RunningTasks, "257", "256", 1292, 0},
		{WindowStart, "1:05", "01:05 +0200", 0, 0},
		{WindowStart, "23:10 -0330", "23:10 -0330", 0, 0},
		{WindowEnd, "25:00", "", 0, 1231},
		{Restore, "ARM", "arm", 0, 0},
		{Restore, "never", "", 0, 1231},
		{StaleHold, "0s", "1s", 1292, 0},
		{StaleHold, "1d12h", "1d12h", 0, 0},
		{StaleHold, "soon", "", 0, 1231},
		{DefaultTimeZone, "Europe/Berlin", "Europe/Berlin", 0, 0},
		{DefaultTimeZone, "+05:30", "+05:30", 0, 0},
		{DefaultTimeZone, "CEST", "", 0, 1231},
		{DateFloor, "2001-02-30", "", 0, 1231},
		{HistoryDays, "0", "1", 1292, 0},
	} {
		s, _ := FindSetting(c.name)
		got, warning, refusal := s.Check(c.value, berlin)
		if got != c.want || code(warning) != c.warning || code(refusal) != c.refusal {
			t.Errorf("%s = %s: got %q, warning %v, refusal %v, want %q, %d, %d", c.name, c.value, got, warning, refusal, c.want, c.warning, c.refusal)
		}
	}
}

var update = flag.Bool("update", false, "write the reference pages anew")

func code(e *ddl.Error) uint16 {
	if e == nil {
		return 0
	}
	return e.Code
}

func TestSettingsAreKept(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		if err := b.Seed(t.Context(), "file", map[string]string{JobTimeout: "1h", HistoryDays: "7"}); err != nil {
			t.Fatal(err)
		}
		if err := b.Set(t.Context(), "dba", map[string]string{HistoryDays: "30", JobEnable: "OFF"}); err != nil {
			t.Fatal(err)
		}
		if err := b.Seed(t.Context(), "file", map[string]string{HistoryDays: "7"}); err != nil {
			t.Fatal(err)
		}
		b.exec(t, "INSERT INTO {setting} VALUES ('ttl_of_a_later_version', 'x', '', UTC_TIMESTAMP(6))")
		v, err := b.Values(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if v.Int(HistoryDays) != 30 || v.Bool(JobEnable) || v.Duration(JobTimeout) != time.Hour || v.Int(ScanBatchSize) != 500 {
			t.Errorf("got %v", v)
		}
		if len(v) != len(AllSettings()) {
			t.Errorf("got %d settings, want the %d this version knows", len(v), len(AllSettings()))
		}
		events, err := b.Events(t.Context(), Filter{})
		if err != nil || len(events) != 2 || events[0].Actor != "dba" || events[0].Text != "ttl_job_enable = OFF" {
			t.Errorf("got events %+v, %v, want one for each SET", events, err)
		}
	})
}

// settingsPage is docs/reference/settings.md.
func settingsPage() string {
	var b strings.Builder
	b.WriteString(settingsIntro)
	for _, s := range AllSettings() {
		b.WriteString(s.Markdown())
	}
	return b.String()
}

const settingsIntro = `# Settings

Set with ` + "`SET GLOBAL name = value`" + ` through the proxy, read with ` + "`SELECT @@name`, `SHOW VARIABLES LIKE '%ttl%'` or `SHOW TTL VARIABLES`" + `.
They are kept in the catalog and hold for all proxies of it. Ten have a second name that TiDB knows. Numbers out of range are clamped with
warning 1292, and ` + "`SET GLOBAL name = DEFAULT`" + ` leaves a setting as if nobody had ever set it.

Once the statement has answered, no row goes by the old value, on any node: the batches that were planned by it are refused, and work
goes on, within a second, by the new one. The last column says what else there is to a change.

Options of the program itself are in [options.md](options.md).

| setting | default | values | counts per | meaning | a change holds |
|---|---|---|---|---|---|
`

func TestSettingsPageIsUpToDate(t *testing.T) {
	t.Parallel()
	const page = "../docs/reference/settings.md"
	if *update {
		if err := os.WriteFile(page, []byte(settingsPage()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != settingsPage() {
		t.Errorf("%s (%v) is not what the table of settings says: run `make docs`", page, err)
	}
}
