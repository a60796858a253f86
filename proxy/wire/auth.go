package wire

import "bytes"

// First bytes of the packets a server sends while a client logs in or changes its user.
const (
	AuthOK         = 0x00
	AuthMore       = 0x01 // data of the plugin
	AuthNextFactor = 0x02 // one factor accepted, the next plugin asks
	AuthSwitch     = 0xFE // another plugin, with its own salt
	AuthError      = 0xFF
)

// AuthSwitchPlugin is the plugin that an AuthSwitch or AuthNextFactor packet asks for.
func AuthSwitchPlugin(payload []byte) string {
	if len(payload) < 2 {
		return ""
	}
	name, _, _ := bytes.Cut(payload[1:], []byte{0})
	return string(name)
}
