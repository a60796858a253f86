package integration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"
	"github.com/rogpeppe/go-internal/testscript"
)

// session is a connection that a story keeps open from one command to the next.
type session struct {
	db    *sql.DB
	conn  *sql.Conn
	cut   context.CancelFunc // ends the connection in the middle of what was started
	done  chan error         // of what was started; nil when there is nothing
	found []result
}

// openSession connects through the proxy, or as an administrator to the server itself.
func (s *story) openSession(ts *testscript.TestScript, f flags) (*session, error) {
	var config *mysql.Config
	if f.direct {
		config = s.server.Config(f.db)
	} else {
		config = s.client(f)
	}

	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}

	o := &session{db: sql.OpenDB(connector)}
	if o.conn, err = o.db.Conn(context.Background()); err != nil {
		return nil, errors.Join(err, o.close())
	}

	return o, nil
}

func (o *session) close() error {
	if o.done != nil {
		o.cut()
		<-o.done
	}
	if o.conn != nil {
		_ = o.conn.Close() // of a connection that is lost already
	}
	return o.db.Close()
}

// run runs statements and keeps what they return.
func (o *session) run(ctx context.Context, statements []string) error {
	o.found = nil
	for _, statement := range statements {
		r, err := one(ctx, o.conn, statement)
		if err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		o.found = append(o.found, r)
	}
	return nil
}

// session is the command `session NAME [-direct] statement…`: a session that stays open until
// `leave NAME`.
func (s *story) session(ts *testscript.TestScript, args []string) error {
	name, o, f, err := s.named(ts, args)
	if err != nil {
		return err
	}
	defer func() { s.sessions[name] = o }()
	if err := o.run(context.Background(), f.rest); err != nil {
		return err
	}
	o.print(ts, f)
	return nil
}

// start is the command `start NAME statement…`: the same without waiting for the answer, which
// `finish NAME` does.
func (s *story) start(ts *testscript.TestScript, args []string) error {
	name, o, f, err := s.named(ts, args)
	if err != nil {
		return err
	}
	s.sessions[name] = o
	ctx, cut := context.WithCancel(context.Background())
	o.cut, o.done = cut, make(chan error, 1)
	go func() { o.done <- o.run(ctx, f.rest) }()
	return nil
}

// finish is the command `finish NAME`: the answer to what was started.
func (s *story) finish(ts *testscript.TestScript, args []string) error {
	if len(args) != 1 || s.sessions[args[0]] == nil || s.sessions[args[0]].done == nil {
		return errors.New("finish needs the name of a session that was started")
	}
	o := s.sessions[args[0]]
	err := <-o.done
	o.cut()
	o.done = nil
	if err != nil {
		return err
	}
	o.print(ts, flags{})
	return nil
}

// leave is the command `leave NAME`: the client is gone, in the middle of a statement or not.
func (s *story) leave(_ *testscript.TestScript, args []string) error {
	if len(args) != 1 || s.sessions[args[0]] == nil {
		return errors.New("leave needs the name of a session")
	}
	o := s.sessions[args[0]]
	delete(s.sessions, args[0])
	return o.close()
}

// named reads the arguments of a command, and finds the session that it names, or opens it.
func (s *story) named(ts *testscript.TestScript, args []string) (string, *session, flags, error) {
	if len(args) < 2 {
		return "", nil, flags{}, errors.New("a name and a statement are needed")
	}
	f, err := parse(ts, args[1:])
	if err != nil {
		return "", nil, f, err
	}
	o := s.sessions[args[0]]
	if o == nil {
		o, err = s.openSession(ts, f)
	}
	return args[0], o, f, err
}

func (o *session) print(ts *testscript.TestScript, f flags) {
	for _, r := range o.found {
		r.print(ts.Stdout(), f.vertical)
	}
}
