package ddl

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the goldens with what the package says now")

// TestGolden reads testdata/*.txtar. An archive's comment may set the mode ("mode: mariadb 101108
// ansi_quotes gbk"); its files come in threes: in, what is forwarded, what it means.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("goldens: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			golden(t, file)
		})
	}
}

func golden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}

	mode := modeOf(t, string(archive.Comment))
	var out []txtar.File
	for _, f := range archive.Files {
		if !strings.HasPrefix(f.Name, "in") {
			continue
		}
		in := strings.TrimSuffix(string(f.Data), "\n")
		forwarded, meaning := describe(Parse(Encode(in, mode.Charset), mode), mode)
		out = append(out, f, txtar.File{Name: "forwarded", Data: []byte(forwarded)},
			txtar.File{Name: "meaning", Data: []byte(meaning)})
	}

	got := txtar.Format(&txtar.Archive{Comment: archive.Comment, Files: out})
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}

	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// modeOf reads the line "mode: …" of an archive's comment.
func modeOf(t *testing.T, comment string) Mode {
	mode := Mode{Charset: "utf8mb4", Version: 90704}
	for line := range strings.Lines(comment) {
		line, found := strings.CutPrefix(strings.TrimSpace(line), "mode: ")
		if !found {
			continue
		}

		for field := range strings.FieldsSeq(line) {
			switch field {
			case "mariadb":
				mode.MariaDB, mode.Version = true, 101119
			case "ansi_quotes":
				mode.ANSIQuotes = true
			case "no_backslash_escapes":
				mode.NoBackslashEscapes = true
			default:
				mode.Charset = field
				if version, err := strconv.Atoi(field); err == nil {
					mode.Charset, mode.Version = "utf8mb4", version
				}
			}
		}
	}

	return mode
}

// describe prints what is forwarded and what the statements mean.
func describe(statements []*Statement, mode Mode) (forwarded, meaning string) {
	var f, m strings.Builder
	for _, st := range statements {
		if st.Err != nil {
			fmt.Fprintf(&m, "%v\n", st.Err)
			continue
		}

		fmt.Fprintf(&f, "%s\n", Decode(st.Forward(), mode.Charset))
		if st.Action == nil {
			m.WriteString("not ours\n")
			continue
		}

		m.WriteString(mode.print(reflect.ValueOf(st.Action)) + "\n")
	}

	return f.String(), m.String()
}

// print writes a value without its zero fields.
func (m Mode) print(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		return m.print(v.Elem())
	case reflect.Struct:
		switch s := v.Interface().(type) {
		case Name:
			return strings.TrimPrefix(s.Schema+"."+s.Table, ".")
		case Statement: // the text of PREPARE
			if s.Action == nil {
				return "not ours"
			}
			return m.print(reflect.ValueOf(s.Action))
		}
		return v.Type().Name() + "{" + strings.Join(m.fields(v), " ") + "}"
	case reflect.Slice:
		var items []string
		for i := range v.Len() {
			items = append(items, m.print(v.Index(i)))
		}
		return "[" + strings.Join(items, " ") + "]"
	default:
	}
	return fmt.Sprint(v.Interface())
}

// fields prints the fields of a struct; those of an embedded one as its own.
func (m Mode) fields(v reflect.Value) []string {
	var fields []string
	for i := range v.NumField() {
		f, at := v.Field(i), v.Type().Field(i)
		switch {
		case f.IsZero() || !at.IsExported():
		case at.Anonymous:
			fields = append(fields, m.fields(f)...)
		default:
			fields = append(fields, at.Name+":"+m.print(f))
		}
	}
	return fields
}
