package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStopFileThatGoesUnseen: a switch that does nothing when it is needed is found out before.
func TestStopFileThatGoesUnseen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	private := "470 436 8:1 /tmp/systemd-private-1f-ttlproxy.service-x/tmp %s rw,nosuid shared:1 - ext4 /dev/sda1 rw\n"

	for _, test := range []struct{ name, mounts, want string }{
		{"", "", ""},
		{"/stop", "", ""},
		{filepath.Join(file, "stop"), "", "not a directory"},
		{filepath.Join(dir, "nowhere", "stop"), "", "no such file"},
		{"/tmp/stop", "", "PrivateTmp=yes"},
		{"/var/tmp/../tmp/stop", "", "PrivateTmp=yes"},
		{"/tmp/stop", "1 2 8:1 / / rw - ext4 /dev/sda1 rw\n", ""},
		{"/tmp/stop", strings.ReplaceAll(private, "%s", "/tmp"), "of this service alone"},
		{"/tmp/stop", strings.ReplaceAll(private, "%s", "/var/tmp"), ""},
		{filepath.Join(dir, "stop"), strings.ReplaceAll(private, "%s", dir[:len(dir)-1]), ""},
	} {
		got := ""
		if f := examineStopFile(test.name, test.mounts); f != nil {
			got = f.Text
		}
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s, with %q: got %q, want %q", test.name, test.mounts, got, test.want)
		}
	}
}
