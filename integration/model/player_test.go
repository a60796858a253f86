package model

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/program"
)

// player plays one script in a house.
type player struct {
	*house
	script   script
	world    *world
	eyes     eyes
	sessions map[client]*session
	own      *program.Process // the proxy of a script that kills it
	number   int64
	names    *strings.Replacer // db1 and db2 to their names on the server
	last     int               // the last id that a row has got
	moved    bool              // tables or rows are not as they were last seen
}

// play plays a script and returns what was wrong. The error is for what is not the product's fault.
func (h *house) play(ctx context.Context, s script) (wrong []string, err error) {
	p := &player{
		house: h, script: s, world: newWorld(s.accounts), sessions: map[client]*session{},
		number: h.played.Add(1),
	}
	db1, db2 := fmt.Sprintf("m%da", p.number), fmt.Sprintf("m%db", p.number)
	p.names = strings.NewReplacer("db1", db1, "db2", db2)
	p.eyes = eyes{db: h.db, schemas: map[string]string{db1: "db1", db2: "db2"}}
	defer func() { err = firstError(err, p.leave()) }()

	if err := p.enter(ctx); err != nil {
		return nil, err
	}

	for i := 0; i < len(s.steps) && len(p.world.wrong) == 0; i++ {
		h.steps.Add(1)
		if err := p.step(ctx, s.steps[i]); err != nil {
			return nil, fmt.Errorf("step %d, %s: %w", i+1, s.steps[i], err)
		}
		if err := p.lookIf(ctx); err != nil {
			return nil, err
		}
	}

	if len(p.world.wrong) == 0 {
		err = p.await(ctx)
	}

	return p.world.wrong, err
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// enter makes schemas, accounts, and tables with rows.
func (p *player) enter(ctx context.Context) error {
	statements, stage := []string{"CREATE DATABASE db1", "CREATE DATABASE db2"}, p.script.stage()
	for _, n := range stage {
		extra := ""
		if n.table == "p" {
			extra = partitioned
		}
		statements = append(statements, action{verb: create, table: n, extra: extra}.text())
	}

	for i, g := range p.script.accounts {
		if !p.script.speaks(i) {
			continue
		}
		statements = append(statements, "CREATE USER "+p.user(i))
		for _, grant := range g.list() {
			statements = append(statements, "GRANT "+grant+" TO "+p.user(i))
		}
	}

	for i := range statements {
		statements[i] = p.names.Replace(statements[i])
	}

	if err := p.exec(ctx, statements...); err != nil {
		return err
	}
	if err := p.launch(); err != nil {
		return err
	}
	if err := p.look(ctx); err != nil {
		return err
	}
	if err := p.fill(ctx, stage...); err != nil {
		return err
	}

	return p.look(ctx)
}

// launch starts the script's own proxy if it kills any.
func (p *player) launch() (err error) {
	for _, s := range p.script.steps {
		if s.kill || s.kind == kill {
			p.own, err = p.mortal()
			return err
		}
	}
	return nil
}

func (p *player) user(account int) string { return fmt.Sprintf("m%du%d", p.number, account) }

// address is where a client connects.
func (p *player) address(c client) string {
	switch {
	case c.direct:
		return p.server.Addr()
	case p.own != nil:
		return p.own.Addr
	}
	return p.proxy.Addr
}

// session returns the connection of a client, in a schema.
func (p *player) session(ctx context.Context, c client, in string) (*session, error) {
	s := p.sessions[c]
	if s == nil || s.lost {
		user, options := p.user(c.account), clientOptions{noSchema: c.noSchema, charset: c.charset}
		if c.account == root {
			config := p.server.Config("")
			user, options.password = config.User, config.Passwd
		}

		var err error
		if s, err = connect(ctx, p.address(c), user, options); err != nil {
			return nil, err
		}

		p.sessions[c] = s
	}

	if err := s.conn.UseDB(p.names.Replace(in)); err != nil && judged(err) == unknown {
		s.lost = true
	}

	return s, nil
}

// lookIf looks if something may have moved since it was last seen.
func (p *player) lookIf(ctx context.Context) error {
	if !p.moved {
		return nil
	}
	return p.look(ctx)
}

// look takes what is in the tables, and marks those that are new.
func (p *player) look(ctx context.Context) error {
	p.moved = false
	tables, rows, err := p.eyes.look(ctx)
	if err != nil {
		return err
	}

	var texts []string
	for _, missing := range p.world.seen(tables, rows) {
		p.last++
		texts = append(texts, p.names.Replace(fmt.Sprintf("INSERT INTO %s (id, part) VALUES (%d, %d)",
			missing.table, -p.last, missing.part)))
		p.world.marked(missing.table, missing.part, -p.last)
	}

	if len(texts) > 0 {
		if err := p.exec(ctx, texts...); err != nil {
			return err
		}
	}

	p.world.settle()
	return nil
}

// ages are the days of the rows that fill puts into a table; 0 is not yet.
var ages = []int{0, 20, 40, 100}

// fill puts rows of all ages into tables, unless they have no time column.
func (p *player) fill(ctx context.Context, names ...name) error {
	var texts []string
	for _, n := range names {
		if t := p.world.tables[n]; t.column != "" {
			texts = append(texts, p.names.Replace(fmt.Sprintf("INSERT INTO %s (id, part, %s) VALUES %s",
				n, t.column, p.values(t))))
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return p.write(ctx, texts...)
}

// write is what an application does with rows. It may be refused, as by a lock or a key that a
// script has made.
func (p *player) write(ctx context.Context, statements ...string) error {
	p.moved = true
	err := p.exec(ctx, statements...)
	if _, refused := errors.AsType[*mysql.MySQLError](err); refused {
		return nil
	}
	return err
}

func (p *player) values(t table) string {
	var values []string
	for i, days := range ages {
		p.last++
		values = append(values, fmt.Sprintf("(%d, %d, UTC_TIMESTAMP() + INTERVAL %d DAY)",
			p.last, i%t.parts(), 1-days-days/20))
	}
	return strings.Join(values, ", ")
}

// copyRows copies all rows but the markers from one table to another, under ids of their own.
func (p *player) copyRows(ctx context.Context, from, to name) error {
	source, target := p.world.tables[from], p.world.tables[to]
	if source.column == "" || target.column == "" || from == to {
		return nil
	}
	shift := 1000 * (1 + p.last/1000)
	p.last += shift
	return p.write(ctx,
		p.names.Replace(fmt.Sprintf("INSERT INTO %s (id, part, %s) SELECT id + %d, part, %s FROM %s WHERE id > 0",
			to, target.column, shift, source.column, from)))
}

// leave closes connections and drops what the script has made, policies first.
func (p *player) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()

	for _, s := range p.sessions {
		_ = s.conn.Conn.Conn.Close() // the socket alone: a statement may be under way still
	}

	if p.own != nil {
		p.own.Kill()
	}

	s, err := connect(ctx, p.proxy.Addr, p.server.Config("").User, clientOptions{password: p.server.Config("").Passwd})
	if err != nil {
		return err
	}
	defer s.conn.Close()

	for _, schema := range []string{"db1", "db2"} {
		if _, err := s.conn.Execute(p.names.Replace("DROP DATABASE IF EXISTS " + schema)); err != nil {
			return fmt.Errorf("drop %s: %w", schema, err)
		}
	}

	var users []string
	for i := range p.script.accounts {
		if p.script.speaks(i) {
			users = append(users, p.user(i))
		}
	}

	return p.exec(ctx, "DROP USER "+strings.Join(users, ", "))
}
