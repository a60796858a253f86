package wire

import (
	"encoding/binary"
	"fmt"
)

// OK ends a successful response. With DEPRECATE_EOF it also ends the rows of a result set, with
// another first byte.
type OK struct {
	Affected uint64
	InsertID uint64
	Status   Status
	Warnings uint16
	Info     string
}

// Append appends the OK as a payload.
func (o OK) Append(dst []byte) []byte { return o.append(dst, headerOK) }

func (o OK) append(dst []byte, header byte) []byte {
	dst = append(dst, header)
	dst = AppendInt(dst, o.Affected)
	dst = AppendInt(dst, o.InsertID)
	// An answer of ours changes no session state, so the block of tracked changes never follows.
	dst = binary.LittleEndian.AppendUint16(dst, uint16(o.Status&^SessionStateChanged))
	dst = binary.LittleEndian.AppendUint16(dst, o.Warnings)
	if o.Info == "" {
		return dst
	}
	return AppendString(dst, o.Info) // whatever the capabilities: both servers write the length, all clients read it
}

// Decode reads an OK, with either first byte.
func (o *OK) Decode(payload []byte) error {
	*o = OK{}
	if len(payload) < 1 {
		return fmt.Errorf("OK packet: %w", errShort)
	}

	b := payload[1:]
	var n int
	if o.Affected, n = Int(b); n == 0 {
		return fmt.Errorf("OK packet: %w", errShort)
	}

	b = b[n:]
	if o.InsertID, n = Int(b); n == 0 || len(b) < n+4 {
		return fmt.Errorf("OK packet: %w", errShort)
	}

	o.Status = Status(binary.LittleEndian.Uint16(b[n:]))
	o.Warnings = binary.LittleEndian.Uint16(b[n+2:])
	b = b[n+4:]
	info, _, _ := String(b)
	o.Info = string(info)

	return nil
}
