package statement

import (
	"errors"
	"strings"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// marked finds the statement whose mark an answer is, or nil.
func (q *request) marked(h *proxy.Held, meant []*proxy.Named) (*proxy.Named, error) {
	if !h.Failed() || h.Code != ddl.CodeOutOfRange {
		return nil, nil //nolint:nilnil // it is the server's own answer
	}

	_, err := h.Result()
	if ddl.Wide(q.session.results) {
		err = q.legibly() // in these character sets the servers end a message at its first zero byte
	}

	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return nil, err
	}

	message := ddl.Decode(e.Message, q.session.results)
	for _, n := range meant {
		if strings.Contains(message, n.Label()) || strings.Contains(e.Message, n.Label()) {
			return n, nil
		}
	}

	return nil, nil //nolint:nilnil // the same
}

// legibly repeats what has failed, to get its message in a character set without zero bytes.
func (q *request) legibly() error {
	return under(q.x, "SET character_set_results = utf8mb4", "SET character_set_results = "+q.session.results,
		func() error {
			_, err := q.x.Ask(q.st.Forward())
			return err
		})
}
