package wire

import "encoding/binary"

// First bytes of the packets that end a response, or a part of it.
const (
	headerOK   = 0x00
	headerFile = 0xFB // LOCAL INFILE: the server wants a file
	headerEOF  = 0xFE
	headerErr  = 0xFF
)

// eofSize is the size of an EOF's payload; an OK in its place is longer.
const eofSize = 5

// appendEOF appends an EOF packet's payload.
func appendEOF(dst []byte, status Status, warnings uint16) []byte {
	dst = binary.LittleEndian.AppendUint16(append(dst, headerEOF), warnings)
	return binary.LittleEndian.AppendUint16(dst, uint16(status))
}

// appendEnd appends the payload that ends the rows of a result set.
func appendEnd(dst []byte, o OK, caps Capability) []byte {
	if caps.Has(DeprecateEOF) {
		return o.append(dst, headerEOF)
	}
	return appendEOF(dst, o.Status, o.Warnings)
}
