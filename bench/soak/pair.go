package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// pair is a private server and a proxy in front of it.
type pair struct {
	server  *sandbox.Server
	account *mysql.Config // on the server
	proxy   *program.Process
	dir     string
}

// start starts both; the options of the proxy come behind those that it needs. Who has started them
// closes them.
func (o options) start(ctx context.Context, flavour sandbox.Flavour, server, proxy []string) (p *pair, err error) {
	p = &pair{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()

	if p.server, err = sandbox.Start(ctx, sandbox.Config{Flavour: flavour, Args: server}); err != nil {
		return p, err
	}
	if p.dir, err = os.MkdirTemp("", "ttlproxy-soak-"); err != nil {
		return p, err
	}

	p.account = p.server.Config("")
	args := append([]string{
		"--backend=" + p.server.Addr(), "--engine-user=" + p.account.User, "--status=unix:" + p.page(),
	}, proxy...)
	p.proxy, err = program.Launch(o.proxy, p.dir, program.Config{Args: args})
	return p, err
}

// page is the socket that the proxy serves its page on.
func (p *pair) page() string { return filepath.Join(p.dir, "page.sock") }

// clients log in through the proxy.
func (p *pair) clients() (*sql.DB, error) {
	account := p.account.Clone()
	account.Net, account.Addr = "tcp", p.proxy.Addr
	return open(account)
}

// direct clients log in around it.
func (p *pair) direct() (*sql.DB, error) { return open(p.account.Clone()) }

func open(account *mysql.Config) (*sql.DB, error) {
	account.ParseTime = true
	connector, err := mysql.NewConnector(account)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// Close ends what has been started, and leaves nothing behind.
func (p *pair) Close() error {
	if p.proxy != nil {
		p.proxy.Kill()
	}
	var err error
	if p.server != nil {
		err = p.server.Close()
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}
