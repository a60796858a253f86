package plan

import (
	"cmp"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// oddTable is a table with something that may keep a partition from leaving it.
type oddTable struct {
	name    string
	columns string   // besides id and made
	options string   // of the table
	named   string   // the partition, if it is not p
	part    string   // what follows the bound of p
	after   []string // statements, in which {o} is the table
	only    string   // the server that has such a thing
	why     string   // MySQL does not exchange it, in part
	whyNot  string   // nor does MariaDB
	some    bool     // not all versions of that server refuse it
	absent  bool     // no server has that with partitions
	all     bool     // in all three ways
}

func oddTables() []oddTable {
	const my, maria, instant = "mysql", "mariadb", "ALGORITHM = INSTANT"
	return []oddTable{
		{name: "child", columns: ", f INT, FOREIGN KEY (f) REFERENCES odd.parent (id)", absent: true},
		{name: "fulltext", columns: ", x TEXT, FULLTEXT (x)", only: maria},
		{
			name: "many", all: true, columns: ", v INT AS (id + 1) VIRTUAL, g INT AS (id + 2) STORED, KEY (v), KEY (g), " +
				"u INT INVISIBLE DEFAULT 3, x INT DEFAULT 1 CHECK (x > 0), " +
				"CONSTRAINT positive CHECK (id > 0), CHECK (x < id + 9), y LONGBLOB, j JSON, " +
				"z VARCHAR(9) DEFAULT 'a' COLLATE utf8mb4_bin, KEY (z(3)), e INT DEFAULT (1 + 1), " +
				"a INT, b INT NOT NULL DEFAULT 1, c VARCHAR(9), d ENUM ('a')",
			options: "STATS_PERSISTENT = 0 STATS_AUTO_RECALC = 0 STATS_SAMPLE_PAGES = 5 PACK_KEYS = 1 " +
				"COMMENT = 'it''s \\\\ MAX_ROWS'",
			part: " COMMENT = 'DATA DIRECTORY'",
			after: []string{
				"ALTER TABLE {o} RENAME COLUMN a TO aa, MODIFY b INT NULL, MODIFY d ENUM ('a', 'b')",
				"ALTER TABLE {o} ADD KEY (c), MODIFY c VARCHAR(19)",
				"CREATE TRIGGER {o}_i AFTER INSERT ON {o} FOR EACH ROW DO 1", "CREATE VIEW {o}_v AS SELECT * FROM {o}",
			},
		},
		{name: "expression", columns: ", KEY ((id + 1))", only: my},
		{name: "redundant", options: "ROW_FORMAT = REDUNDANT"},
		{name: "compressed", options: "ROW_FORMAT = COMPRESSED KEY_BLOCK_SIZE = 4"},
		{name: "pages", options: "COMPRESSION = 'zlib'", only: my},
		{name: "pages", options: "PAGE_COMPRESSED = 1", only: maria},
		{
			name: "period", columns: ", a DATE DEFAULT '2020-01-01', b DATE DEFAULT '2020-01-02', PERIOD FOR v (a, b)",
			only: maria,
		},
		{name: "letters", named: "Part_1"},
		{name: "space", named: "p 1", whyNot: "letters from a to z", some: true},
		{name: "accent", named: "pé", whyNot: "letters from a to z", some: true},
		{name: "dollar", named: "p$", whyNot: "letters from a to z", some: true},
		{name: "hints", options: "MAX_ROWS = 1000", why: "MAX_ROWS"},
		{name: "one", part: " MIN_ROWS = 7", why: "MIN_ROWS"},
		{name: "added", all: true, after: []string{"ALTER TABLE {o} ADD COLUMN x INT DEFAULT 7"}, why: instant},
		{name: "rebuilt", columns: ", x INT", after: []string{
			"ALTER TABLE {o} DROP COLUMN x", "ALTER TABLE {o} REBUILD PARTITION p",
		}, why: instant},
		{name: "written", after: []string{"ALTER TABLE {o} ADD COLUMN x INT DEFAULT 7", "ALTER TABLE {o} FORCE"}},
		{
			name: "format", after: []string{"SET GLOBAL innodb_default_row_format = compact"},
			why: "innodb_default_row_format",
		},
		{name: "formats", options: "ROW_FORMAT = DYNAMIC", after: []string{"SET GLOBAL innodb_default_row_format = compact"}},
	}
}

// TestWhatServersRefuse lets partitions of many kinds of tables go as the engine does, in each of the three ways:
// what a server refuses is known before, and nothing else is said to be.
func TestWhatServersRefuse(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "CREATE DATABASE odd", "CREATE TABLE odd.parent (id INT PRIMARY KEY)")
		defer mustExec(t, db, "SET GLOBAL innodb_default_row_format = dynamic")
		server, flavour := catalog.Server{Version: textOf(t, db, "SELECT VERSION()")}, "mysql"
		if server.MariaDB = strings.Contains(server.Version, "MariaDB"); server.MariaDB {
			flavour = "mariadb"
		}

		for _, o := range oddTables() {
			if o.only != "" && o.only != flavour {
				continue
			}
			in := strings.NewReplacer("{o}", "odd."+o.name).Replace
			mustExec(t, db, "SET GLOBAL innodb_default_row_format = dynamic")
			_, err := db.ExecContext(t.Context(), in("CREATE TABLE {o} (id INT NOT NULL, made DATETIME NOT NULL"+o.columns+
				", PRIMARY KEY (id, made)) "+o.options+" PARTITION BY RANGE COLUMNS (made) ("+
				"PARTITION low VALUES LESS THAN ('2020-01-01'), PARTITION `"+cmp.Or(o.named, "p")+
				"` VALUES LESS THAN ('2020-01-02')"+o.part+", "+
				"PARTITION q VALUES LESS THAN ('2020-01-03'), PARTITION high VALUES LESS THAN (MAXVALUE))"))
			if o.absent {
				if err == nil {
					t.Errorf("%s: there is such a table with partitions", o.name)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", o.name, err)
				continue
			}

			mustExec(t, db, in("INSERT INTO {o} (id, made) VALUES (1, '2019-01-01'), (2, '2020-01-01'), (3, '2020-01-02')"))
			for _, s := range o.after {
				if _, err := db.ExecContext(t.Context(), in(s)); err != nil {
					t.Fatalf("%s: %v", in(s), err)
				}
			}
			for _, how := range []string{ddl.PartitionExchange, ddl.PartitionTruncate, ddl.PartitionDrop} {
				if how == ddl.PartitionExchange || o.all {
					o.goes(t, db, server, how)
				}
			}
		}
	})
}

// goes compares what is said of a partition with what the server does.
func (o oddTable) goes(t *testing.T, db *sql.DB, server catalog.Server, how string) {
	t.Helper()
	partition, at := "q", 2
	if how == ddl.PartitionExchange {
		partition, at = cmp.Or(o.named, "p"), 1
	}
	p := catalog.Policy{State: catalog.PolicyArmed, Table: catalog.Table{Schema: "odd", Name: o.name}, Rule: catalog.Rule{
		Column: "made", Literal: "1", Unit: "MONTH", Enabled: true, JobInterval: "24h", TimeZone: "UTC",
		Options: map[string]string{ddl.OptionPartition: how},
	}}
	var err error
	if p.Terms, err = p.Rule.Terms(); err != nil {
		t.Fatal(err)
	}

	from := fateSource{now: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), server: server}
	fates, err := Fates(t.Context(), db, from, p)
	if err != nil {
		t.Fatal(err)
	}
	why := ""
	if how == ddl.PartitionExchange {
		if why = o.whyNot; !server.MariaDB {
			why = o.why
		}
	}
	for i := range fates {
		if fates[i].Name == partition {
			at = i
		}
	}
	said := fates[at].Text
	if goes := strings.HasPrefix(said, "whole ("); goes != (why == "") || !strings.Contains(said, why) {
		t.Errorf("%s, %s: the fate is %q, want %q", o.name, how, said, why)
	}

	side := catalog.Table{Schema: "odd", Name: o.name + "_side"}
	var all []string
	if how == ddl.PartitionExchange && !server.MariaDB {
		all = append(all, "CREATE TABLE "+side.String()+" LIKE odd."+o.name,
			"ALTER TABLE "+side.String()+" REMOVE PARTITIONING")
	}
	target := tables.Target{Schema: "odd", Table: o.name, Partition: partition}
	all = append(all, Whole{How: how}.Leave(target, side, server.MariaDB))
	for _, s := range all {
		if _, err = db.ExecContext(t.Context(), s); err != nil {
			break
		}
	}
	if refused := err != nil; refused != (why != "") && (refused || !o.some) {
		t.Errorf("%s, %s: the server says %v, and the fate is %q", o.name, how, err, said)
	}
}
