package wire

import "slices"

// Attribute is one of the attributes that a client sends with its response, for the server to show.
type Attribute struct{ Name, Value string }

// WithAttributes returns a response with attributes in front of the client's own, of which those of
// the same names are left out: nobody can pretend. A response without any stays as it is, for its
// COM_CHANGE_USER will come without them, too, and a server that expects some ends the session; and so
// does one that does not decode to its end.
func WithAttributes(payload []byte, add ...Attribute) []byte {
	var r HandshakeResponse
	if err := r.Decode(payload); err != nil || !r.whole || !r.Capabilities.Has(ConnectAttrs) {
		return payload
	}

	rest := payload[len(payload)-r.tail:]
	old, size, ok := String(rest)
	if !ok {
		return payload
	}

	var list []byte
	for _, a := range add {
		list = AppendString(AppendString(list, a.Name), a.Value)
	}

	for len(old) > 0 {
		name, n, named := String(old)
		value, m, valued := String(old[n:])
		if !named || !valued {
			return payload
		}
		old = old[n+m:]
		if !slices.ContainsFunc(add, func(a Attribute) bool { return a.Name == string(name) }) {
			list = AppendString(AppendString(list, name), value)
		}
	}

	head := slices.Clone(payload[:len(payload)-r.tail])
	return append(AppendString(head, list), rest[size:]...)
}
