package wire

import "bytes"

// trackVariable is the type of a session's change that is about a system variable.
const trackVariable = 0

// redirectVariable is the variable by which MariaDB sends a client to another address.
const redirectVariable = "redirect_url"

// CutRedirect returns an OK without the server's request to connect elsewhere, which would lead a
// client past whoever is in between. Everything else stays as it is.
func CutRedirect(payload []byte, caps Capability) []byte {
	var o OK
	if len(payload) == 0 || payload[0] != headerOK || o.Decode(payload) != nil {
		return payload
	}

	tracked := trackedState(payload, o, caps)
	changes, _, ok := String(tracked)
	if !ok {
		return payload
	}

	left := withoutRedirect(changes)
	if len(left) == len(changes) {
		return payload
	}

	before := payload[:len(payload)-len(tracked)]
	return AppendString(bytes.Clone(before), left)
}

// withoutRedirect leaves that change out of a session's changes. What cannot be read stays.
func withoutRedirect(changes []byte) (left []byte) {
	for b := changes; len(b) > 0; {
		data, n, ok := String(b[1:])
		if !ok {
			return append(left, b...)
		}

		name, _, _ := String(data)
		if b[0] != trackVariable || string(name) != redirectVariable {
			left = append(left, b[:1+n]...)
		}
		b = b[1+n:]
	}
	return left
}
