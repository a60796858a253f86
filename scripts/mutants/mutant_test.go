package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestList: every mutant can be read, is named once, with tests, and fits the code as it is.
func TestList(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("mutants.txt")
	if err != nil {
		t.Fatal(err)
	}

	mutants, err := parse(string(list))
	if err != nil || len(mutants) < 50 {
		t.Fatalf("%d mutants, %v", len(mutants), err)
	}

	names := map[string]bool{}
	for _, m := range mutants {
		if names[m.name] || m.old == m.new {
			t.Errorf("%q is there twice, or changes nothing", m.name)
		}

		names[m.name] = true

		text, err := os.ReadFile(filepath.Join("..", "..", m.file))
		if err != nil {
			t.Fatal(err)
		}
		if _, fits := m.apply(string(text)); !fits {
			t.Errorf("%q changes what %s does not say", m.name, m.file)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	all,
		err := parse("# comment\n\nname: a guard\nfile: x.go\n-\tif a {\n-\t\treturn\n+\tif false " +
		"{\n+\t\treturn\ntest: ./x TestA TestB/part\n")
	if err != nil || len(all) != 1 || all[0].old != "\tif a {\n\t\treturn" ||
		all[0].new != "\tif false {\n\t\treturn" || len(all[0].tests) != 2 {
		t.Errorf("got %+v, %v", all, err)
	}
	if got := patterns([]string{"TestA", "TestB/part", "TestC"}); len(got) != 2 || got[0] != "^TestB$/^part$" ||
		got[1] != "^(TestA|TestC)$" {
		t.Errorf("got %q", got)
	}

	for _, wrong := range []string{"name: x\nfile: y\n-a\n", "name: x\n-a\ntest: ./x TestA\n", "rubbish"} {
		if _, err := parse(wrong); err == nil {
			t.Errorf("%q is a mutant", wrong)
		}
	}
}

func TestGuardsAreFoundHoweverTheyAreBroken(t *testing.T) {
	t.Parallel()
	m := mutant{old: "\tif a {\n\t\treturn \"x y\"", new: "\tif false {\n\t\treturn \"x y\""}
	for text, want := range map[string]string{
		"b()\n\tif a {\n\t\treturn \"x y\"\n\t}":              "b()\n\t\tif false {\n\t\treturn \"x y\"\n\t}",
		"b()\n\n\tif a {\n\n\t\treturn \"x \" +\n\t\t\t\"y\"": "b()\n\n\t\tif false {\n\t\treturn \"x y\"",
	} {
		if got, fits := m.apply(text); !fits || got != want {
			t.Errorf("%q: got %q, %v", text, got, fits)
		}
	}

	for _, text := range []string{"if b {\n\t\treturn \"x y\"", "if a { return \"x y\" } else if a { return \"x y\" }"} {
		if got, fits := m.apply(text); fits {
			t.Errorf("%q became %q", text, got)
		}
	}
}
