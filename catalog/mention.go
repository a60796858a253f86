package catalog

import (
	"regexp"
	"strings"
)

// mentions matches a table in a sentence, as Table.String writes it, and what is said of a foreign
// key from it: by us, or by a server's error.
var mentions = regexp.MustCompile("`((?:[^`]|``)+)`\\.`((?:[^`]|``)+)`" +
	`(?: \([^()]*, ON DELETE [A-Z ]+\)|, CONSTRAINT [^)]*\) REFERENCES [^)]*\)[^)]*)?`)

// Mentions lists the tables that a sentence names.
func Mentions(sentence string) (tables []Table) {
	if !mayMention(sentence) {
		return nil
	}
	for _, m := range mentions.FindAllStringSubmatch(sentence, -1) {
		tables = append(tables, mentioned(m))
	}
	return tables
}

// mayMention spares most sentences the search.
func mayMention(sentence string) bool { return strings.Contains(sentence, "`.`") }

func mentioned(m []string) Table {
	return Table{Schema: strings.ReplaceAll(m[1], "``", "`"), Name: strings.ReplaceAll(m[2], "``", "`")}
}

// Veil removes the names of tables from a sentence for a reader who may not see them.
func Veil(sentence string, visible func(Table) bool) string {
	if !mayMention(sentence) {
		return sentence
	}
	return mentions.ReplaceAllStringFunc(sentence, func(name string) string {
		if visible(mentioned(mentions.FindStringSubmatch(name))) {
			return name
		}
		return "another table"
	})
}
