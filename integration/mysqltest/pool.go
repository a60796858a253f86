package mysqltest

import (
	"database/sql"
	"fmt"
	"os"
	"slices"
	"sync"
)

// catalogs are those that a test has left as they were made, but for their rows. To make and to drop
// one costs MySQL a third of a second of computing, to empty it a tenth of that.
var catalogs pool

type pool struct {
	mu   sync.Mutex
	last int
	idle map[string][]used // by the server
}

// used is a catalog that has been used and emptied, and how it looks.
type used struct {
	schema string
	model  []string
}

// name returns one that no catalog has had.
func (p *pool) name() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	return fmt.Sprintf("ttl%d_%05d_c", os.Getpid(), p.last) // none begins like another
}

// take returns a catalog that has been used, if there is one.
func (p *pool) take(server string) (c used, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.idle[server]
	if len(idle) == 0 {
		return used{}, false
	}
	p.idle[server] = idle[:len(idle)-1]
	return idle[len(idle)-1], true
}

func (p *pool) put(server string, c used) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle == nil {
		p.idle = map[string][]used{}
	}
	p.idle[server] = append(p.idle[server], c)
}

// place is which server this is.
func (p premade) place() (place string) {
	p.tb.Helper()
	p.must(p.scan("SELECT CONCAT_WS(' ', @@version, @@hostname, @@port, @@datadir, @@sql_mode)", &place))
	return place
}

// giveBack empties a catalog for the next test. One that is not as its model has it, or on which
// something still works, is dropped.
func (p premade) giveBack(db *sql.DB, model []string) {
	p.tb.Helper()
	defer p.connect(db)()
	outlives := os.Getenv("TTLPROXY_TEST_MARIADB")+os.Getenv("TTLPROXY_TEST_MYSQL") != ""
	if outlives || p.tb.Failed() || !p.emptied(model) {
		// who was to empty it does not wait for locks, and something may still work on it
		p.must(p.exec("SET SESSION lock_wait_timeout = DEFAULT", "DROP DATABASE IF EXISTS "+p.schema))
		return
	}
	catalogs.put(p.place(), used{p.schema, model})
}

// emptied has the catalog as it was in the beginning, and reports whether it is.
func (p premade) emptied(model []string) bool {
	is, err := p.model()
	if err != nil || !slices.Equal(slices.Sorted(slices.Values(is)), slices.Sorted(slices.Values(model))) {
		return false // their order is by the second in which they were made
	}

	// a session that has the schema or names it, more than tables and views, rights on it
	var more int
	if err := p.scan(fmt.Sprintf("SELECT (SELECT COUNT(*) FROM information_schema.PROCESSLIST "+
		"WHERE ID <> CONNECTION_ID() AND (DB = '%[1]s' OR LOCATE('%[1]s', INFO) > 0)) + "+
		"(SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = '%[1]s') + "+
		"(SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '%[1]s') + "+
		"(SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = '%[1]s') + "+
		"(SELECT COUNT(*) FROM mysql.db WHERE Db = '%[1]s') + "+
		"(SELECT COUNT(*) FROM mysql.tables_priv WHERE Db = '%[1]s')", p.schema), &more); err != nil || more > 0 {
		return false
	}

	tables, err := p.names("BASE TABLE")
	if err != nil || p.exec("USE {schema}", "SET SESSION foreign_key_checks = OFF, lock_wait_timeout = 1, "+
		"innodb_lock_wait_timeout = 1") != nil {
		return false
	}

	for _, name := range tables {
		if !p.emptyTable(name) {
			return false
		}
	}

	return p.exec(model[len(model)-firstRows:]...) == nil
}

// emptyTable gives up where there are many rows: what the server knows of a table's size outlives them.
func (p premade) emptyTable(name string) bool {
	const many = 1000
	gone, err := p.conn.ExecContext(p.ctx(), fmt.Sprintf("DELETE FROM %s LIMIT %d", name, many))
	if err != nil {
		return false
	}
	if n, err := gone.RowsAffected(); err != nil || n == many {
		return false
	}

	create, err := p.create("BASE TABLE", name)
	return err == nil && (!counter.MatchString(create) || p.exec("ALTER TABLE "+name+" AUTO_INCREMENT = 1") == nil)
}
