package main

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/proxy"
)

// reloading is a proxy that reads its configuration from a file, and does not run.
type reloading struct {
	*reloader
	file     string
	registry *prometheus.Registry
}

// successful is what the metric says.
func (r *reloading) successful(t *testing.T) float64 {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "ttlproxy_config_last_reload_successful" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("there is no such metric")
	return 0
}

func newReloading(t *testing.T, text string) *reloading {
	t.Helper()
	file, log := filepath.Join(t.TempDir(), "ttlproxy.toml"), slog.New(slog.DiscardHandler)
	again := func() (*options, error) {
		return load(optionsOf("serve"), given{"config": {file}}, func(string) (string, bool) { return "", false })
	}
	registry := prometheus.NewRegistry()
	r := &reloading{&reloader{metrics: newReloadMetrics(registry), log: log}, file, registry}
	r.write(t, text)

	o, err := again()
	if err != nil {
		t.Fatal(err)
	}
	o.again = again
	backends, err := o.backends(log)
	if err != nil {
		t.Fatal(err)
	}
	r.options = o
	if r.server, err = proxy.New(t.Context(), o.Proxy, backends, log, proxy.NewMetrics(registry)); err != nil {
		t.Fatal(err)
	}
	if r.page, err = newPage(t.Context(), o, backends, registry, log); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *reloading) write(t *testing.T, text string) {
	t.Helper()
	text = "backend = '127.0.0.1:1'\nengine-user = 'e'\nlisten = '127.0.0.1:0'\n" + text
	if err := os.WriteFile(r.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEveryOptionIsOnceOrTakenOver: a reload either says of an option that has changed that it waits for a restart, or
// hands it to what goes by it.
func TestEveryOptionIsOnceOrTakenOver(t *testing.T) {
	other := func(v value) string {
		switch v := v.(type) {
		case choice:
			return "'" + v.words[(slices.Index(v.words, v.String())+1)%len(v.words)] + "'"
		case onOff:
			return strconv.FormatBool(v.String() == "off")
		case number:
			return "77"
		case span:
			return "'77s'"
		case list:
			return "['127.0.0.1:77']"
		default:
			return "'/77'"
		}
	}
	taken := func(o *options) any {
		_ = o.prepareBackends() // a password's file is not there
		o.Backends.CheckPassword = nil
		return []any{
			o.Proxy, o.Backends, o.LogLevel, o.StatusToken, o.StatusTokenFile,
			*o.password.file.Load(), *o.replicaPassword.file.Load(),
		}
	}

	const needed = "backend = '127.0.0.1:1'\nengine-user = 'e'\n"
	for _, row := range optionsOf("serve") {
		if !row.accepts(fromFile) {
			continue
		}
		before, err := loaded(t, needed, nil)
		if err != nil {
			t.Fatal(err)
		}
		changed := row.name + " = " + other(row.bind(defaults()))
		if !strings.Contains(needed, row.name+" =") {
			changed = needed + changed
		} else {
			changed = strings.ReplaceAll(needed, "'127.0.0.1:1'", "'127.0.0.1:2'")
			changed = strings.ReplaceAll(changed, "'e'", "'f'")
		}
		after, err := loaded(t, changed, nil)
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}

		waits := slices.Contains(before.outdated(after), row.name)
		if got := !reflect.DeepEqual(taken(before), taken(after)); !waits && !got {
			t.Errorf("%s has changed, and neither waits for a restart nor is taken over", row.name)
		}
	}
}

// TestReloadReplacesTheStatusToken: whoever has written another into its file, or names another file, has it in force.
// One that cannot be used leaves the old one.
func TestReloadReplacesTheStatusToken(t *testing.T) {
	dir := t.TempDir()
	file, elsewhere := filepath.Join(dir, "token"), filepath.Join(dir, "elsewhere")
	write := func(file, token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const first, second, third = "the first one, 16", "the second one, 16", "the third one, 16"
	write(file, first)
	write(elsewhere, third)
	const config = "status = '127.0.0.1:0'\nstatus-token-file = '$'"
	r := newReloading(t, strings.ReplaceAll(config, "$", file))
	stop := r.page.serve(t.Context())
	defer stop()

	admits := func(token string) bool {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://"+r.page.address()+"/debug/pprof/cmdline", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}

	for _, c := range []struct {
		what, token, config, want string
		good                      float64
	}{
		{"at start", first, config, first, 1},
		{"another", second, config, second, 1},
		{"one too short", "short", config, second, 0},
		{"none", "", config, second, 0},
		{"another file", first, strings.ReplaceAll(config, "$", elsewhere), third, 1},
		{"back", first, config, first, 1},
	} {
		write(file, c.token)
		r.write(t, strings.ReplaceAll(c.config, "$", file))
		r.reload(t.Context())
		if got := r.successful(t); got != c.good {
			t.Errorf("%s: successful is %v, want %v", c.what, got, c.good)
		}
		for _, token := range []string{first, second, third, "short"} {
			if admits(token) != (token == c.want) {
				t.Errorf("%s: %q is let in: %v", c.what, token, admits(token))
			}
		}
	}
}

// TestOutdatedNamesWhatWaitsForARestart: only what has changed is named, and nothing that is taken
// over at once.
func TestOutdatedNamesWhatWaitsForARestart(t *testing.T) {
	before, err := loaded(t, "listen = ['a:1']\nstop-file = '/a'\nmax-connections = 1\nlog-level = 'info'", nil)
	if err != nil {
		t.Fatal(err)
	}

	after, err := loaded(t, "listen = ['b:1']\nstop-file = '/b'\nmax-connections = 2\nlog-level = 'warn'", nil)
	if err != nil {
		t.Fatal(err)
	}

	if got, want := before.outdated(after), []string{"listen", "stop-file"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := before.outdated(before); got != nil {
		t.Errorf("nothing has changed, and %q wait for a restart", got)
	}
}

func TestSecretIsReadEachTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	s := newSecret("engine-password-file", path, "ignored")
	for _, want := range []string{"one", "two"} {
		write(want + "\n")
		if got, err := s.read(); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}

	write("\n")
	if _, err := s.read(); err == nil {
		t.Error("an empty password was taken")
	}

	s.follow(newSecret("engine-password-file", "", ""))
	if got, err := s.read(); err != nil || got != "ignored" {
		t.Errorf("without a file: got %q, %v, want the one from the environment", got, err)
	}
}
