package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

var update = flag.Bool("update", false, "write the reference page")

// loaded runs load for serve as a shell would call it.
func loaded(t *testing.T, file string, environment map[string]string, args ...string) (*options, error) {
	t.Helper()
	if file != "" {
		path := filepath.Join(t.TempDir(), "ttlproxy.toml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}

	flags, _, _, err := parseFlags(optionsOf("serve"), args)
	if err != nil {
		t.Fatal(err)
	}

	return load(optionsOf("serve"), flags, func(name string) (string, bool) {
		s, ok := environment[name]
		return s, ok
	})
}

func TestPrecedenceIsFlagEnvironmentFile(t *testing.T) {
	file := "engine-user = 'f'\nlog-level = 'warn'\nlog-format = 'json'\nengine = false\nbackend = ['f1:1', 'f2:2']"
	environment := map[string]string{
		"TTLPROXY_ENGINE_USER": "e", "TTLPROXY_LOG_LEVEL": "error",
		"TTLPROXY_LISTEN": "e:1,e:2",
	}
	o, err := loaded(t, file, environment, "--engine-user=c", "--listen", "c:1", "--listen", "c:2")
	if err != nil {
		t.Fatal(err)
	}
	got := []any{o.EngineUser, o.LogLevel, o.LogFormat, o.Engine, o.Backends.Addresses, o.Proxy.Listen, o.Schema}
	want := []any{"c", "error", "json", false, []string{"f1:1", "f2:2"}, []string{"c:1", "c:2"}, "ttlproxy"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestMistakesSayWhereAndWhat(t *testing.T) {
	for _, c := range []struct {
		file        string
		environment map[string]string
		want        string
	}{
		{
			file: "lisen = 'x:1'",
			want: `there is no key "lisen" \(did you mean listen\?\): .ttlproxy config. prints all of them`,
		},
		{file: "[proxy]\nlisten = 'x:1'", want: `there is no key "proxy"`},
		{
			file: "engine-password = 'secret'",
			want: "engine-password cannot be set in a file: set engine-password-file to one that holds it, or " +
				"TTLPROXY_ENGINE_PASSWORD in the environment",
		},
		{file: "engine = 'maybe'", want: `ttlproxy.toml: engine: "maybe" is neither on nor off`},
		{file: "listen = [1]", want: "listen: an array must contain strings"},
		{file: "listen = ", want: "ttlproxy.toml: toml: line 1"},
		{
			environment: map[string]string{"TTLPROXY_LOG_FORMAT": "xml"},
			want:        `TTLPROXY_LOG_FORMAT: "xml" is not one of auto, text, json`,
		},
	} {
		_, err := loaded(t, c.file, c.environment)
		if err == nil || !regexp.MustCompile(c.want).MatchString(err.Error()) {
			t.Errorf("%s%v: got %v, want %s", c.file, c.environment, err, c.want)
		}
		if code := exitCode(err, new(strings.Builder)); code != 2 {
			t.Errorf("%s%v: exit code %d, want 2", c.file, c.environment, code)
		}
	}
}

func TestEveryExampleIsTheDefaultOrValid(t *testing.T) {
	var b bytes.Buffer
	if err := writeExample(&b); err != nil {
		t.Fatal(err)
	}
	if o, err := loaded(t, b.String(), nil); err != nil || o.Schema != "ttlproxy" {
		t.Fatalf("as printed: %v, %v", o, err)
	}

	all := regexp.MustCompile(`(?m)^#([a-z-]+ = )`).ReplaceAllString(b.String(), "$1")
	if _, err := loaded(t, all, nil); err != nil {
		t.Fatalf("with every key set: %v", err)
	}

	var keys map[string]any
	if err := toml.Unmarshal([]byte(all), &keys); err != nil {
		t.Fatal(err)
	}

	for _, o := range table() {
		if _, ok := keys[o.name]; ok != o.accepts(fromFile) {
			t.Errorf("%s is in the example: %v, want %v", o.name, ok, o.accepts(fromFile))
		}
	}
}

func TestReferencePagesAreCurrent(t *testing.T) {
	for name, write := range map[string]func(io.Writer) error{
		"options.md": writeReference,
		"config.md":  writeConfigReference,
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}

		path := filepath.Join("..", "..", "docs", "reference", name)
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}

		page, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(page, b.Bytes()) {
			t.Errorf("%s is not what the table says (%v): run `make docs`", path, err)
		}
	}
}

func TestTableHasNoDoubles(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range table() {
		if seen[o.name] || o.text == "" || o.group == "" || len(o.on) == 0 {
			t.Errorf("row %q: named twice, or without text, group or command", o.name)
		}

		seen[o.name] = true
		for _, name := range o.on {
			if find(name) == nil {
				t.Errorf("%s is for %s, which is no command", o.name, name)
			}
		}
	}

	promised := []string{
		"listen", "backend", "engine-user", "engine-password-file", "engine", "status", "stop-file", "config",
	}
	if !containsAll(seen, promised) {
		t.Errorf("one of the promised options %v is gone", promised)
	}
}

func containsAll(seen map[string]bool, names []string) bool {
	for _, name := range names {
		if !seen[name] {
			return false
		}
	}
	return true
}
