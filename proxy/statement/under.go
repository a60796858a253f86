package statement

import (
	"errors"

	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// under runs something under settings of ours in the client's session, and puts the client's back whatever happens: a
// KILL QUERY that is meant for the client's statement may hit one of ours.
func under(x *proxy.Exchange, ours, theirs string, run func() error) error {
	_, err := x.Ask(ours)
	if err == nil {
		err = run()
	}
	if lost := putBack(x, theirs); lost != nil {
		return lost
	}
	return err
}

// putBack puts the client's settings back. A KILL QUERY hits one statement, so another try passes. A client never goes
// on under settings that it has not made: if nothing helps, it is told that its session ends.
func putBack(x *proxy.Exchange, theirs string) error {
	const tries = 3
	var err error
	for range tries {
		if _, err = x.Ask(theirs); err == nil {
			return nil
		}
		if _, answered := errors.AsType[*wire.Error](err); !answered {
			return err
		}
	}

	over := refuse("ttlproxy: this session ends, because its settings could not be put back: %v", err)
	return x.Fail(errors.Join(over, x.Err(over)))
}
