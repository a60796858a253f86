package wire

import "bytes"

// DecodeChangeUser reads COM_CHANGE_USER as far as the plugin's name. The authentication data and
// the name are returned as parts of the payload. It reports false if something is missing.
func DecodeChangeUser(payload []byte, caps Capability) (user string, auth, plugin []byte, ok bool) {
	if len(payload) == 0 {
		return "", nil, nil, false
	}

	name, b, ok := bytes.Cut(payload[1:], []byte{0})
	if !ok {
		return "", nil, nil, false
	}

	if caps.Has(SecureConnection) {
		if len(b) == 0 || len(b)-1 < int(b[0]) {
			return string(name), nil, nil, false
		}
		auth, b = b[1:1+int(b[0])], b[1+int(b[0]):]
	} else if auth, b, ok = bytes.Cut(b, []byte{0}); !ok {
		return string(name), nil, nil, false
	}

	if _, b, ok = bytes.Cut(b, []byte{0}); !ok || len(b) < 2 {
		return string(name), auth, nil, ok // without a character set, hence without a plugin
	}
	if caps.Has(PluginAuth) {
		plugin, _, _ = bytes.Cut(b[2:], []byte{0})
	}

	return string(name), auth, plugin, true
}
