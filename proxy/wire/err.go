package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Error is an ERR packet, and a Go error.
type Error struct {
	Code    uint16
	State   string // SQLSTATE, five characters
	Message string
}

// progressCode is the number with which MariaDB marks a progress report in the form of an error.
const progressCode = 0xFFFF

// Error reads as the mariadb and mysql command lines print it.
func (e *Error) Error() string {
	return fmt.Sprintf("ERROR %d (%s): %s", e.Code, e.State, e.Message)
}

// RefusedWith reports whether the server has answered with an error of one of these numbers. Any
// other becomes the client's answer: a probe that was not answered as expected, whoever is to
// blame, proves nothing.
func RefusedWith(err error, codes ...uint16) bool {
	refused, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(codes, refused.Code)
}

// Append appends the error as a payload.
func (e *Error) Append(dst []byte) []byte {
	dst = append(dst, headerErr, byte(e.Code), byte(e.Code>>8), '#')
	state := e.State
	if len(state) != 5 {
		state = "HY000"
	}
	return append(append(dst, state...), e.Message...)
}

// AppendBare appends the error without SQLSTATE, as it is sent in place of a greeting: nothing has
// been negotiated at that time.
func (e *Error) AppendBare(dst []byte) []byte {
	return append(append(dst, headerErr, byte(e.Code), byte(e.Code>>8)), e.Message...)
}

// Decode reads an ERR packet, with or without SQLSTATE.
func (e *Error) Decode(payload []byte) error {
	*e = Error{State: "HY000"}
	if len(payload) < 3 || payload[0] != headerErr {
		return fmt.Errorf("ERR packet: %w", errShort)
	}
	e.Code = binary.LittleEndian.Uint16(payload[1:])
	b := payload[3:]
	if len(b) >= 6 && b[0] == '#' {
		e.State, b = string(b[1:6]), b[6:]
	}
	e.Message = string(b)
	return nil
}

// IsProgress reports whether a packet is MariaDB's report of how far a statement has come, which
// has the form of an error.
func IsProgress(payload []byte) bool {
	return len(payload) >= 3 && payload[0] == headerErr && binary.LittleEndian.Uint16(payload[1:]) == progressCode
}
