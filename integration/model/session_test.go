package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	driver "github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
)

// session is a connection of a client, with what the test has to remember of it.
type session struct {
	conn     *driver.Conn
	shadows  map[name]bool // temporary tables
	prepared map[string]bound
	lost     bool // the connection is gone
}

// bound is a prepared statement, and the schema in which its names are read.
type bound struct {
	action action
	in     string
	stmt   *driver.Stmt // nil for one of PREPARE
	unsure bool         // a later PREPARE of this name failed
}

// patience is how long a statement may take on a busy machine.
const patience = 60 * time.Second

func connect(ctx context.Context, address, user string, c clientOptions) (*session, error) {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil || !c.noSchema {
			return conn, err
		}
		return &flagging{Conn: conn}, nil
	}

	conn, err := driver.ConnectWithDialer(ctx, "tcp", address, user, c.password, "", dial,
		func(conn *driver.Conn) error {
			conn.ReadTimeout, conn.WriteTimeout = patience, patience
			return conn.SetCapability(mysql.CLIENT_MULTI_STATEMENTS)
		})
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", user, err)
	}

	if c.charset != "" {
		if _, err := conn.Execute("SET NAMES " + c.charset); err != nil {
			return nil, err
		}
	}

	return &session{conn: conn, shadows: map[name]bool{}, prepared: map[string]bound{}}, nil
}

type clientOptions struct {
	password string
	noSchema bool
	charset  string
}

// flagging sets CLIENT_NO_SCHEMA, which the driver does not know, in the first packet that it
// sends.
type flagging struct {
	net.Conn
	flagged bool
}

func (f *flagging) Write(b []byte) (int, error) {
	if f.flagged || len(b) <= 4 {
		return f.Conn.Write(b)
	}
	f.flagged = true
	login := bytes.Clone(b)
	login[4] |= byte(mysql.CLIENT_NO_SCHEMA) // behind the packet's header
	return f.Conn.Write(login)
}

// outcomes runs a text and returns what became of each of its statements. What was not answered is
// unknown.
func (s *session) outcomes(text string, n int) []outcome {
	results := make([]outcome, n)
	for i := range results {
		results[i] = unknown
	}

	i := 0
	_, err := s.conn.ExecuteMultiple(text, func(_ *mysql.Result, err error) {
		if i < n {
			results[i] = judged(err)
		}
		i++
	})
	if err != nil {
		s.lost = true
		return results
	}

	for ; i < n; i++ {
		results[i] = refused // behind one that was refused
	}

	return results
}

// judged is what an answer says. The proxy's own errors may come when the server has done its part.
func judged(err error) outcome {
	if err == nil {
		return done
	}
	if answer, ok := errors.AsType[*mysql.MyError](err); ok && answer.Code != codeOfProxy {
		return refused
	}
	return unknown
}

// codeOfProxy is the error number of what only the proxy can say, such as that it could not write
// the policy.
const codeOfProxy = 1105
