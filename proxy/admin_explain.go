package proxy

import (
	"errors"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// describesTable reports whether EXPLAIN TTL x describes column x of a table named ttl, as both servers read it.
func describesTable(x *exchange, s *ddl.ExplainTTL) (bool, error) {
	if s.Alter != nil || s.JSON || s.Table.Schema != "" {
		return false, nil
	}
	_, err := x.Ask("SHOW CREATE TABLE ttl")
	var refused *wire.Error
	if errors.As(err, &refused) {
		return false, nil
	}
	return err == nil, err
}
