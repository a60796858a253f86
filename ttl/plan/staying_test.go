package plan

import (
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

func TestStayingThatCannotBePromised(t *testing.T) {
	t.Parallel()
	l := &tables.Layout{
		Schema: "s", Table: "t",
		Indexes: []tables.Index{{Name: "PRIMARY", Columns: []string{"a", "b"}}, {Name: "u", Columns: []string{"u"}}},
	}
	key := func(table, rule string, references ...string) tables.Children {
		return tables.Children{Keys: []tables.ForeignKey{{
			Schema: "s", Table: table, Name: "k", OnDelete: rule, Columns: references, References: references,
		}}}
	}

	for _, test := range []struct {
		name     string
		option   string
		children tables.Children
		why      string // empty when it can be promised
	}{
		{"no key and no option", "", tables.Children{}, ""},
		{"no key, as far as can be seen, and no option", "", tables.Children{Unsure: "GRANT PROCESS"}, ""},
		{"a key and no option", "", key("c", "NO ACTION", "a", "b"), "a foreign key points at the table: `s`.`c`"},
		{"no key", "SKIP", tables.Children{}, ""},
		{"no key, as far as can be seen", "SKIP", tables.Children{Unsure: "GRANT PROCESS"}, "GRANT PROCESS"},
		{"the primary key", "SKIP", key("c", "CASCADE", "B", "A"), ""},
		{"a part of the primary key", "SKIP", key("c", "CASCADE", "a"), "`s`.`c` (k, ON DELETE CASCADE)"},
		{"another key", "SKIP", key("c", "SET NULL", "u"), "does not point at the primary key"},
		{"another key that only refuses", "SKIP", key("c", "NO ACTION", "u"), ""},
		{"the table itself", "SKIP", key("t", "NO ACTION", "a", "b"), "cannot look into the table"},
	} {
		_, why := StayingOf(terms(t, test.option), l, test.children)
		if (why == "") != (test.why == "") || !strings.Contains(why, test.why) {
			t.Errorf("%s: got %q, want %q", test.name, why, test.why)
		}
	}
}

// terms are those of a rule with a value of TTL_FK.
func terms(t *testing.T, foreignKeys string) catalog.Terms {
	t.Helper()
	read, err := catalog.Rule{
		Literal: "1", Unit: "DAY", JobInterval: "1h",
		Options: map[string]string{ddl.OptionForeignKeys: foreignKeys},
	}.Terms()
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// TestStayingOfNoRule: what was not understood may have said which rows stay.
func TestStayingOfNoRule(t *testing.T) {
	t.Parallel()
	if _, why := StayingOf(catalog.Terms{}, &tables.Layout{}, tables.Children{}); why == "" {
		t.Error("rows would be deleted by a rule that nobody has read")
	}
}

// TestChildrenComparedOtherwise: InnoDB compares the numbers of an ENUM, servers its words.
func TestChildrenComparedOtherwise(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		db := s.DB(t)
		var schema string
		if err := db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&schema); err != nil {
			t.Fatal(err)
		}

		for _, statement := range []string{
			"CREATE TABLE words (e ENUM ('a', 'b') PRIMARY KEY, made DATETIME)",
			"CREATE TABLE c1 (e ENUM ('b', 'a'), FOREIGN KEY (e) REFERENCES words (e) ON DELETE CASCADE)",
			"CREATE TABLE texts (e VARCHAR(9) PRIMARY KEY, made DATETIME)",
			"CREATE TABLE c2 (e VARCHAR(19), FOREIGN KEY (e) REFERENCES texts (e) ON DELETE CASCADE)",
		} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}

		for table, refused := range map[string]bool{"words": true, "texts": false} {
			f, err := tables.ReadFacts(t.Context(), db, schema, table)
			if err != nil {
				t.Fatal(err)
			}
			_, why, err := ReadStaying(t.Context(), db, terms(t, ddl.ForeignKeysSkip), &f.Layout, f.Children)
			if err != nil || strings.Contains(why, "its column e is not certain") != refused {
				t.Errorf("%s: got %q, want a reason: %v; %v", table, why, refused, err)
			}
		}
	})
}
