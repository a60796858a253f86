package ddl

import (
	"testing"
	"time"
)

func TestFormatDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                                     "0s",
		514 * time.Millisecond:                "1s",
		1499 * time.Millisecond:               "1s",
		59*time.Second + 501*time.Millisecond: "1m",
		90 * time.Second:                      "1m30s",
		time.Hour:                             "1h",
		time.Hour + time.Second:               "1h0m1s",
		26 * time.Hour:                        "26h",
		-8 * time.Hour:                        "-8h",
	} {
		got := FormatDuration(d)
		if got != want {
			t.Errorf("%d: got %s, want %s", d, got, want)
		}
	}
}
