package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// The demo's application logs in with this account, and a password of this run's: on MariaDB, whoever may make a table
// may make its file anywhere (DATA DIRECTORY) with the rights of the demo's user.
const (
	demoSchema = "demo"
	demoUser   = "demo"
)

// newDemoPassword is short enough for the line to connect with.
func newDemoPassword() string { return strings.ToLower(rand.Text()[:10]) }

// demo is `ttlproxy demo`: a private server, a proxy in front of it, and an application that fills
// four tables.
func demo(ctx context.Context, w world, o *options, _ []string) error {
	o.Status = cmp.Or(o.Status, "127.0.0.1:4080")
	if err := o.checkAddresses(ctx); err != nil {
		return err
	}

	ctx, stop := untilHangup(ctx)
	defer stop()

	server, err := provideServer(ctx, w, sandbox.Config{
		Flavour: sandbox.Flavour(o.Demo.Server), Dir: o.Demo.Keep, Locked: true,
	})
	if err == nil {
		err = o.playOn(ctx, w, server)
	} else {
		err = whileRunning(ctx, err)
	}
	if err != nil {
		return err
	}

	if o.Demo.Keep != "" {
		fmt.Fprintf(w.stdout, "\nStopped. The data is in %s: start with the same --keep to go on.\n", o.Demo.Keep)
	} else {
		fmt.Fprintln(w.stdout, "\nStopped, and everything removed.")
	}

	return nil
}

// untilHangup ends when the terminal is closed, unless the demo has been told to outlive it (nohup).
func untilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return context.WithCancel(ctx)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second one ends everything at once
	return ctx, stop
}

// playOn is the demo on a server, which it ends. Whatever of that is left, its user learns.
func (o *options) playOn(ctx context.Context, w world, server demoServer) error {
	return errors.Join(whileRunning(ctx, o.perform(ctx, w, server)), server.Close())
}

// perform runs the proxy and the application until ctx ends.
func (o *options) perform(ctx context.Context, w world, server demoServer) error {
	logPath := filepath.Join(server.Dir(), "ttlproxy.log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()

	password := newDemoPassword()
	if err := o.introduce(ctx, server, password); err != nil {
		return whileRunning(ctx, err)
	}

	g, ctx := errgroup.WithContext(ctx)
	ready := make(chan listening, 1)
	g.Go(func() error {
		return runServices(ctx, o, slog.New(slog.NewTextHandler(log, nil)), func(at listening) { ready <- at })
	})
	g.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case at := <-ready:
			return show(ctx, w.stdout, invitation{
				Server: server.Kind().String(), Password: password, Address: at.clients, Status: at.page, Log: logPath,
			})
		}
	})

	return g.Wait()
}

// introduce creates the accounts and tells the proxy where its server is.
func (o *options) introduce(ctx context.Context, server demoServer, password string) error {
	o.Backends.Addresses = []string{server.Addr()}

	// Clients of MariaDB 11.4 and newer insist on TLS, and on the same machine they accept any
	// certificate.
	o.Proxy.TLS.SelfSigned, o.Backends.TLS.Mode = true, proxy.TLSNever
	o.EngineUser, o.EnginePassword = "ttlproxy", rand.Text()
	connector, err := mysql.NewConnector(server.Config(""))
	if err != nil {
		return err
	}

	db := sql.OpenDB(connector)
	defer db.Close()

	mariadb := server.Kind().Flavour == sandbox.MariaDB
	statements := append(o.accounts(mariadb), demoAccounts(password)...)
	for _, g := range o.account([]string{demoSchema}).PartitionGrants(mariadb) {
		statements = append(statements, g.SQL)
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("prepare the server: %w", err)
		}
	}

	return nil
}

func demoAccounts(password string) []string {
	return []string{
		"CREATE DATABASE IF NOT EXISTS " + demoSchema,
		"CREATE USER IF NOT EXISTS " + demoUser + "@'%'",
		"ALTER USER " + demoUser + "@'%' IDENTIFIED BY '" + password + "'",
		"GRANT ALL ON " + demoSchema + ".* TO " + demoUser + "@'%'",
	}
}

// show fills the tables through the proxy, says what to try, and goes on as a busy application
// until ctx ends.
func show(ctx context.Context, out io.Writer, i invitation) error {
	application, err := openDemo(i.Address, i.Password)
	if err != nil {
		return err
	}
	defer application.Close()

	if err := application.create(ctx); err != nil {
		return whileRunning(ctx, err)
	}

	printInvitation(out, i)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return application.insert(ctx) })
	g.Go(func() error { return application.watch(ctx, out) })

	return whileRunning(ctx, g.Wait())
}

// whileRunning drops the errors of statements that were cut off because the demo ends.
func whileRunning(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // asked to stop: nothing failed
	}
	return err
}
