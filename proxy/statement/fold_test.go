package statement

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// Servers that fold names know fewer pairs of letters than Unicode does by now: Ɂ and ɂ are two
// schemas to them. A policy belongs to the one that the statement names, and has the very name that
// the server stores.
func TestNamesAreFoldedAsTheServerDoes(t *testing.T) {
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			th := newTheatre(t, mysqltest.Start(t, flavour, "--lower-case-table-names=1"))
			th.isNotTheOther()
			th.storesWhatTheServerStores()
		})
	}
}

func (t *theatre) isNotTheOther() {
	t.Helper()
	t.exec("CREATE DATABASE `aɂ`", "CREATE TABLE `aɂ`.t (id INT PRIMARY KEY, created DATETIME)", "CREATE DATABASE `aɁ`",
		"CREATE TABLE `aɁ`.t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY",
		"CREATE TABLE `aɂ`.RUN LIKE `aɁ`.T")
	db := t.open(t.server.Account(t.T, "folded", "ALL ON `aɁ`.*"))
	for _, s := range []string{
		"ALTER TABLE `aɁ`.T TTL = created + INTERVAL 2 DAY", "ALTER TABLE `aɁ`.t REMOVE TTL",
		"ALTER TABLE `aɁ`.t TTL = created + INTERVAL 3 DAY",
	} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}

	if got := t.policies(); !slices.Equal(got, []string{"`aɁ`.`t`", "`aɂ`.`run`"}) {
		t.Errorf("policies of %q, want those that were declared", got)
	}

	t.exec("DROP DATABASE `aɂ`", "DROP DATABASE `aɁ`")
	if got := t.policies(); len(got) > 0 {
		t.Errorf("policies of %q, whose schemas are gone", got)
	}
}

// storesWhatTheServerStores makes tables with every letter that has another case.
func (t *theatre) storesWhatTheServerStores() {
	t.Helper()
	var letters []string
	for r := rune(0x80); r <= 0xFFFF; r++ {
		if unicode.ToLower(r) != r || unicode.ToUpper(r) != r {
			letters = append(letters, string(r))
		}
	}

	for name := range slices.Chunk(letters, 40) { // a file's name has 255 bytes, and a letter up to five
		t.exec("CREATE TABLE `" + strings.Join(name, "") +
			"` (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY")
	}

	var want []string
	rows, err := t.direct.QueryContext(t.Context(),
		"SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()

	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		want = append(want, "`"+t.schema+"`.`"+name+"`")
	}

	slices.Sort(want)
	if got := t.policies(); rows.Err() != nil || !slices.Equal(got, want) {
		t.Errorf("policies of %q, tables %q, %v", got, want, rows.Err())
	}
}

// policies lists the tables that have one.
func (t *theatre) policies() []string {
	t.Helper()
	all, err := t.store.Policies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Table.String())
	}
	slices.Sort(names)
	return names
}

// The same letters in columns of one table: the TTL is on the very one.
func TestTheVeryColumn(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE two (id INT PRIMARY KEY, `tɂ` TIMESTAMP NULL, `tɁ` DATETIME)",
			"ALTER TABLE two TTL = `tɁ` + INTERVAL 1 DAY TTL_TIME_ZONE = '+09:00'",
			"CREATE TABLE more (id INT PRIMARY KEY, `tɂ` TIMESTAMP NULL, `tɁ` DATETIME) TTL = `tɁ` + INTERVAL 1 DAY")
		t.wantPolicy("two", "armed tɁ 1 DAY 24h")
		t.wantPolicy("more", "armed tɁ 1 DAY 24h")
	})
}
