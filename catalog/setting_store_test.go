package catalog

import (
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

func TestSettingsAreKept(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		if err := b.Set(t.Context(), "dba", map[string]string{
			setting.HistoryDays: "30", setting.JobEnable: "OFF", setting.JobTimeout: "1h",
		}); err != nil {
			t.Fatal(err)
		}

		b.exec(t, "INSERT INTO {setting} VALUES ('ttl_of_a_later_version', 'x', '', UTC_TIMESTAMP(6))")
		v, err := b.Values(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if v.Int(setting.HistoryDays) != 30 || v.Bool(setting.JobEnable) ||
			v.Duration(setting.JobTimeout) != time.Hour || v.Int(setting.ScanBatchSize) != 500 {
			t.Errorf("got %v", v)
		}
		if len(v) != len(setting.All()) {
			t.Errorf("got %d settings, want the %d this version knows", len(v), len(setting.All()))
		}

		events, err := b.Events(t.Context(), Filter{})
		if err != nil || len(events) != 3 || events[0].Actor != "dba" || events[0].Text != "ttl_job_timeout = 1h" {
			t.Errorf("got events %+v, %v, want one for each setting", events, err)
		}
	})
}
