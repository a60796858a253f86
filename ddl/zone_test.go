package ddl

import (
	"testing"
	"time"
)

func TestZone(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "SYSTEM", "Local", "CEST!", "Mars/Phobos", "+25:00", "-14:00", "+02:75", "2:00"} {
		if _, err := Zone(bad); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
	if zone, err := Zone("+00:00"); err != nil || zone != time.UTC {
		t.Errorf("+00:00 is %v, %v, want UTC", zone, err)
	}
}
