package ddl

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestOptionsAreReadAsTheyAreWritten: what a statement may say is what is read from the catalog.
func TestOptionsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	got, err := ReadOptions(map[string]string{
		OptionCron: "0 3 * * *", OptionWindow: "22:00-06:00", OptionDeleteRate: "1000", OptionBatchSize: "500",
		OptionMaxLag: "2h", OptionBrakeFactor: "0", OptionMaxRows: "1000000", OptionMaxPercent: "20",
		OptionTimeZone: "Europe/Berlin",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.DeleteRate == nil || got.DeleteRate.String() != "1000" {
		t.Errorf("got %v, want 1000 rows a second", got.DeleteRate)
	}
	if got.Cron == nil || got.Window == nil || got.BrakeFactor == nil || *got.BrakeFactor != 0 {
		t.Errorf("got %+v, want a schedule, a window and a factor", got)
	}

	got.Cron, got.Window, got.BrakeFactor, got.DeleteRate = nil, nil, nil, nil
	want := Options{
		BatchSize: 500, MaxLag: 2 * time.Hour, MaxRows: 1_000_000, MaxPercent: 20,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}

	if got, err := ReadOptions(nil); err != nil || !reflect.DeepEqual(got, Options{}) {
		t.Errorf("of none: got %+v, %v", got, err)
	}
}

func TestOptionsThatAreNotRead(t *testing.T) {
	t.Parallel()
	for option, text := range map[string]string{
		OptionCron: "whenever", OptionWindow: "22:00", OptionDeleteRate: "0", OptionBatchSize: "10241",
		OptionMaxLag: "0", OptionBrakeFactor: "-1", OptionMaxRows: "many", OptionMaxPercent: "101", "TTL_SPARE": "1",
	} {
		_, err := ReadOptions(map[string]string{option: text})
		if err == nil || !strings.Contains(err.Error(), option) {
			t.Errorf("%s='%s': got %v, want an error that names the option", option, text, err)
		}
	}
}
