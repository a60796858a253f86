package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// demoTable is one of the tables of the demo's application.
type demoTable struct {
	name   string
	create string        // without its TTL
	ttl    string        // declared once the table is full
	column string        // the column that its rows age by
	rows   int           // that it starts with
	oldest time.Duration // the age of the oldest of them
	beat   int           // rows inserted with each beat
}

// demoTables are chosen to show short and long lives, and the brake: most of audit is due at once,
// so that its first job waits for approval.
var demoTables = []demoTable{
	{
		name: "code", column: "sent_at", rows: 200, oldest: 3 * time.Minute, beat: 5,
		create: "CREATE TABLE IF NOT EXISTS code (id BIGINT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(40), sent_at " +
			"DATETIME, KEY (sent_at))",
		ttl: "TTL = sent_at + INTERVAL 1 MINUTE TTL_JOB_INTERVAL = '5s'",
	},
	{
		name: "session", column: "seen_at", rows: 2000, oldest: 20 * time.Minute, beat: 2,
		create: "CREATE TABLE IF NOT EXISTS session (id BIGINT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(40), seen_at " +
			"TIMESTAMP NULL, KEY (seen_at))",
		ttl: "TTL = seen_at + INTERVAL 10 MINUTE TTL_JOB_INTERVAL = '20s'",
	},
	{
		name: "event", column: "at", rows: 12_000, oldest: 9 * 24 * time.Hour, beat: 10,
		create: "CREATE TABLE IF NOT EXISTS event (id BIGINT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(40), at " +
			"DATETIME(3))",
		ttl: "TTL = at + INTERVAL 7 DAY TTL_JOB_INTERVAL = '1m'",
	},
	{
		name: "audit", column: "at", rows: 18_000, oldest: 90 * 24 * time.Hour, beat: 1,
		create: "CREATE TABLE IF NOT EXISTS audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(40), at " +
			"DATETIME)",
		ttl: "TTL = at + INTERVAL 30 DAY TTL_JOB_INTERVAL = '1m'",
	},
}

// application is a client of the proxy like any other.
type application struct {
	*sql.DB
	inserted [4]atomic.Int64 // rows by table
	shown    [4]string       // what was last printed about each
	deleted  [4]int64        // how many rows have been deleted, as last printed
}

func openDemo(address, password string) (*application, error) {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = demoUser, password, "tcp", address, demoSchema
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return &application{DB: sql.OpenDB(connector)}, nil
}

// create makes the tables and fills those that have no TTL: it is declared when a table is full, because a job that
// began before would judge it by the rows of that moment, and find nothing that needs approval. So one whose filling
// was cut short is filled up the next time.
func (a *application) create(ctx context.Context) error {
	for i, t := range demoTables {
		if _, err := a.ExecContext(ctx, t.create); err != nil {
			return fmt.Errorf("create table %s: %w", t.name, err)
		}

		var rows int64
		if err := a.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+t.name).Scan(&rows); err != nil {
			return err
		}

		a.inserted[i].Store(rows)
		full, err := a.hasTTL(ctx, t.name)
		if err != nil {
			return err
		}
		if full {
			continue
		}

		const batch = 1000
		for done := int(rows); done < t.rows; done += batch {
			if err := a.fill(ctx, i, min(batch, t.rows-done), t.oldest); err != nil {
				return err
			}
		}

		if _, err := a.ExecContext(ctx, "ALTER TABLE "+t.name+" "+t.ttl); err != nil {
			return fmt.Errorf("declare the TTL of %s: %w", t.name, err)
		}
	}
	return nil
}

func (a *application) hasTTL(ctx context.Context, table string) (bool, error) {
	var text string
	err := a.QueryRowContext(ctx, "SHOW CREATE TABLE "+table).Scan(&table, &text)
	return strings.Contains(text, " TTL="), err
}

// fill inserts rows of random ages up to oldest.
func (a *application) fill(ctx context.Context, table, rows int, oldest time.Duration) error {
	t := demoTables[table]
	values := make([]string, rows)
	for i := range values {
		age := rand.Int64N(int64(oldest/time.Second) + 1)
		values[i] = fmt.Sprintf("('%s %06d', NOW() - INTERVAL %d SECOND)", t.name, rand.IntN(1_000_000), age)
	}
	_, err := a.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s (what, %s) VALUES %s",
		t.name, t.column, strings.Join(values, ",")))
	if err != nil {
		return fmt.Errorf("insert into %s: %w", t.name, err)
	}
	a.inserted[table].Add(int64(rows))
	return nil
}

// insert adds fresh rows to all tables, as the users of a busy application would. What fails,
// because somebody has dropped a table to see what happens, is retried with the next beat.
func (a *application) insert(ctx context.Context) error {
	beat := time.NewTicker(500 * time.Millisecond)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
		}
		for i, t := range demoTables {
			_ = a.fill(ctx, i, t.beat, 0)
		}
	}
}
