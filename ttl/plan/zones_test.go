package plan

import (
	"archive/zip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// zoneNames lists every zone of the tz database that comes with Go.
func zoneNames(t *testing.T) []string {
	t.Helper()
	archive, err := zip.OpenReader(filepath.Join(goroot(t), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Skipf("the zones of this Go are not there to list: %v", err)
	}
	defer archive.Close()

	var names []string
	for _, f := range archive.File {
		if !strings.HasSuffix(f.Name, "/") {
			names = append(names, f.Name)
		}
	}

	return names
}

func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("no Go command to ask for the zones: %v", err)
	}
	return strings.TrimSpace(string(out))
}
