package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// targets lists what a script makes, in the order written.
func targets(t *testing.T, path, pattern string) []string {
	t.Helper()

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	var out []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	return out
}

// TestSameChecksEverywhere: what the hosted workflow runs on every change also runs before a change
// is handed in, except for what needs Docker or a network of its own.
func TestSameChecksEverywhere(t *testing.T) {
	t.Parallel()

	elsewhere := []string{"vuln", "up", "down"}
	hosted := slices.DeleteFunc(targets(t, "../.github/workflows/ci.yml", `(?m)run: make ([a-z-]+)`),
		func(target string) bool {
			return slices.Contains(elsewhere, target)
		})
	local := targets(t, "../.ci/run", `(?m)^[^#\n]*\bmake (?:--[a-z-]+ )*([a-z]+)\b`)

	if !slices.Equal(hosted, local) || len(local) == 0 {
		t.Errorf("the hosted workflow makes %q, .ci/run makes %q", hosted, local)
	}
}

// TestContainersTrustTheirCheckout: in a container git refuses a checkout that belongs to another
// user, and the build, which asks git for the revision, fails.
func TestContainersTrustTheirCheckout(t *testing.T) {
	t.Parallel()

	for _, path := range []string{"../.github/workflows/ci.yml", "../.github/workflows/nightly.yml"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		for job := range strings.SplitSeq(string(text), "runs-on: ") {
			made := strings.Index(job, "run: make ")
			trusted := strings.Index(job, "safe.directory")
			if strings.Contains(job, "container: ") && (trusted < 0 || made < trusted) {
				t.Errorf("%s: a job in a container makes something before it trusts its checkout:\n%s", path, job)
			}
		}
	}
}

// TestNightsAreLongEnough: chaos takes its time once for each of its tests and servers, and neither go test nor the
// hosted workflow stops it before.
func TestNightsAreLongEnough(t *testing.T) {
	t.Parallel()

	asked := targets(t, "../.github/workflows/nightly.yml", `"chaos CHAOSTIME=(\w+)"`)
	allowed := targets(t, "../.github/workflows/nightly.yml", `timeout-minutes: (\d+)`)
	recipe := targets(t, "../Makefile", `TTLPROXY_MODEL_TIME=.*-timeout (\w+) \./integration/chaos`)
	model := targets(t, "../Makefile", `(?m)^MODELTIME +\?= (\w+)$`)
	if len(asked) != 1 || len(allowed) == 0 || len(recipe) != 1 || len(model) != 1 {
		t.Fatalf("chaos is asked for %q, and may take %q, %q of them in go test; the model takes %q", asked, allowed,
			recipe, model)
	}

	files, err := filepath.Glob("../integration/chaos/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := 0
	for _, f := range files {
		tests += len(targets(t, f, `(lengthOf\(t\))`))
	}

	const servers, setUp = 2, 1.5 // and a year of partitions
	each, night, test, other := minutes(t, asked[0]), minutes(t, allowed[0]+"m"), minutes(t, recipe[0]), minutes(t, model[0])
	if least := (float64(tests)*servers*each + other) * setUp; tests == 0 || test < least || night < least {
		t.Errorf("%d tests of %.0f minutes on two servers take %.0f minutes or more, of %.0f and %.0f", tests, each, least,
			test, night)
	}
}

func minutes(t *testing.T, duration string) float64 {
	t.Helper()
	d, err := time.ParseDuration(duration)
	if err != nil {
		t.Fatal(err)
	}
	return d.Minutes()
}

// TestSystemsAreCompiledEveryNight: the page on compatibility names the systems for which the program is compiled, which
// happens every night and in check-all.
func TestSystemsAreCompiledEveryNight(t *testing.T) {
	t.Parallel()

	names := map[string]string{
		"linux/arm64": "Linux on arm64", "darwin/arm64": "macOS", "freebsd/amd64": "FreeBSD", "openbsd/amd64": "OpenBSD",
		"netbsd/amd64": "NetBSD",
	}
	page, err := os.ReadFile("reference/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}

	_, systems, _ := strings.Cut(string(page), "## Systems")
	list := targets(t, "../Makefile", `(?m)^CROSS +:= (.*)$`)
	if len(list) != 1 || len(strings.Fields(list[0])) != len(names) {
		t.Fatalf("the Makefile compiles for %q, want %d systems", list, len(names))
	}
	for system := range strings.FieldsSeq(list[0]) {
		if name := names[system]; name == "" || !strings.Contains(systems, name) {
			t.Errorf("the page does not name %s (%s)", system, name)
		}
	}

	for path, pattern := range map[string]string{
		"../.github/workflows/nightly.yml": `(?m)target: \[.*\b(cross)\b`, "../Makefile": `(?m)^check-all:.* (cross)\b`,
	} {
		if len(targets(t, path, pattern)) != 1 || !strings.Contains(systems, "every night") {
			t.Errorf("%s does not make cross, or the page does not say that it is made every night", path)
		}
	}
}
