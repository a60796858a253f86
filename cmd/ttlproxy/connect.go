package main

import (
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
)

// prepareBackends checks the options that every command that talks to a server needs.
func (o *options) prepareBackends() error {
	if len(o.Backends.Addresses) == 0 {
		return usagef("which server? Name it with --backend HOST:PORT or unix:PATH")
	}
	if o.EngineUser == "" {
		return usagef("which account keeps the policies and deletes expired rows? Name it with --engine-user; " +
			"`ttlproxy init` prints the statements that create it")
	}

	o.password = newSecret("engine-password-file", o.EnginePasswordFile, o.EnginePassword)
	o.replicaPassword = newSecret("replica-password-file", o.ReplicaPasswordFile, o.ReplicaPassword)
	if o.BackendCheck == "account" {
		o.Backends.CheckUser, o.Backends.CheckPassword = o.EngineUser, o.password.read
	}

	var err error
	o.EnginePassword, err = o.password.read()
	return err
}

// backends makes them.
func (o *options) backends(log *slog.Logger) (*proxy.Backends, error) {
	if err := o.prepareBackends(); err != nil {
		return nil, err
	}
	backends, err := proxy.NewBackends(o.Backends, log)
	if err != nil {
		return nil, usagef("%v", err)
	}
	return backends, nil
}

// login returns how the engine's account connects.
func (o *options) login(backends *proxy.Backends) *mysql.Config {
	c := o.engine()
	backends.Configure(c, o.password.read)
	return c
}

// members returns how it connects to each of the backends.
func (o *options) members(backends *proxy.Backends) []proxy.Member {
	return backends.Members(o.engine(), o.password.read)
}

// engine is the engine's account, wherever it connects to.
func (o *options) engine() *mysql.Config {
	c := mysql.NewConfig()
	c.User = o.EngineUser
	c.Logger = &mysql.NopLogger{} // what goes wrong with a connection is in the error we get
	return c
}

// replicaLogin returns how the account for replicas connects to one; nil if there is none.
func (o *options) replicaLogin(backends *proxy.Backends) func(hostPort string) *mysql.Config {
	if o.ReplicaUser == "" {
		return nil
	}
	return func(hostPort string) *mysql.Config {
		c := mysql.NewConfig()
		c.User = o.ReplicaUser
		backends.Toward(c, o.replicaPassword.read, hostPort)
		return c
	}
}

// open returns the catalog's connections. Nothing is dialled yet.
func (o *options) open(backends *proxy.Backends) (*sql.DB, error) {
	connector, err := catalog.Connector(o.login(backends))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(8) // statements of clients share them, and each is short
	// opening one takes as long as ten statements; they are closed after a minute without work
	db.SetMaxIdleConns(8)
	db.SetConnMaxIdleTime(time.Minute)
	db.SetConnMaxLifetime(catalog.SessionAge)
	return db, nil
}

// advise adds to a server's refusal, or to a doubt about the server, what to do about it.
func (o *options) advise(err error) error {
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		return fmt.Errorf("%w; name the authority with --backend-tls-ca", err)
	}
	if _, other := errors.AsType[x509.HostnameError](err); other {
		return fmt.Errorf("%w; give --backend as the certificate names it, or settle for "+
			"--backend-tls-verify=verify-ca", err)
	}

	var answer *mysql.MySQLError
	if !errors.As(err, &answer) {
		return err
	}

	switch answer.Number {
	case ddl.CodeAccessDenied, ddl.CodeNoPassword, ddl.CodeHostRefused:
		return fmt.Errorf("the server does not let --engine-user=%s in: %w; check its password, or create the "+
			"account with the statements of `ttlproxy init`", o.EngineUser, err)
	case ddl.CodeSchemaDenied, ddl.CodeTableDenied, ddl.CodeRightNeeded:
		return fmt.Errorf("the account --engine-user=%s lacks rights: %w; `ttlproxy init` prints the GRANTs it needs",
			o.EngineUser, err)
	}

	return err
}
