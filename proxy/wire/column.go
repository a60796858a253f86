package wire

import (
	"encoding/binary"
	"fmt"
)

// Type is how a column's values are written.
type Type byte

// The types in which we write values.
const (
	TypeDouble   Type = 0x05
	TypeLongLong Type = 0x08
	TypeDate     Type = 0x0A
	TypeDatetime Type = 0x0C
	TypeString   Type = 0xFD
	TypeBlob     Type = 0xFC
)

// ColumnFlag is a property of a column.
type ColumnFlag uint16

// The flags that an answer of ours may carry. NOT NULL is set only for what is never NULL: drivers
// choose their types by it.
const (
	FlagNotNull  ColumnFlag = 0x0001
	FlagUnsigned ColumnFlag = 0x0020
	FlagBinary   ColumnFlag = 0x0080
)

const (
	charsetUTF8MB4 = 45 // utf8mb4_general_ci, which both servers know by this number
	charsetBinary  = 63
)

// Column defines one column of a result set.
type Column struct {
	Schema   string
	Table    string
	Name     string
	Charset  uint16
	Length   uint32 // the widest value in bytes, as text
	Type     Type
	Flags    ColumnFlag
	Decimals byte
}

// Text is a column of strings of at most chars characters.
func Text(name string, chars int) Column {
	return Column{Name: name, Type: TypeString, Charset: charsetUTF8MB4, Length: uint32(chars) * 4}
}

// LongText is a column of strings of any length.
func LongText(name string) Column {
	return Column{Name: name, Type: TypeBlob, Charset: charsetUTF8MB4, Length: 1<<32 - 1}
}

// Integer is a column of signed integers.
func Integer(name string) Column {
	return Column{Name: name, Type: TypeLongLong, Charset: charsetBinary, Length: 20, Flags: FlagBinary}
}

// Float is a column of floating point numbers with this many digits after the point.
func Float(name string, decimals byte) Column {
	return Column{
		Name: name, Type: TypeDouble, Charset: charsetBinary, Length: 23, Decimals: decimals,
		Flags: FlagBinary,
	}
}

// Datetime is a column of times with this many digits (0 to 6) of fractions of seconds.
func Datetime(name string, decimals byte) Column {
	c := Column{
		Name: name, Type: TypeDatetime, Charset: charsetBinary, Length: 19, Decimals: decimals,
		Flags: FlagBinary,
	}
	if decimals > 0 {
		c.Length += 1 + uint32(decimals)
	}
	return c
}

// NotNull is the same column, promised never to hold NULL.
func (c Column) NotNull() Column {
	c.Flags |= FlagNotNull
	return c
}

// Append appends the definition as a payload.
func (c Column) Append(dst []byte, caps Capability) []byte {
	dst = AppendString(dst, "def")
	dst = AppendString(dst, c.Schema)
	dst = AppendString(dst, c.Table)
	dst = AppendString(dst, c.Table)
	dst = AppendString(dst, c.Name)
	dst = AppendString(dst, c.Name)

	if caps.Has(ExtendedMetadata) {
		dst = AppendInt(dst, 0)
	}

	dst = AppendInt(dst, 12)
	dst = binary.LittleEndian.AppendUint16(dst, c.Charset)
	dst = binary.LittleEndian.AppendUint32(dst, c.Length)
	dst = append(dst, byte(c.Type))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(c.Flags))

	return append(dst, c.Decimals, 0, 0)
}

// Decode reads a definition.
func (c *Column) Decode(payload []byte, caps Capability) error {
	*c = Column{}
	var names [6][]byte
	b := payload
	for i := range names {
		s, n, ok := String(b)
		if !ok {
			return fmt.Errorf("column definition: %w", errShort)
		}
		names[i], b = s, b[n:]
	}

	c.Schema, c.Table, c.Name = string(names[1]), string(names[2]), string(names[4])
	if caps.Has(ExtendedMetadata) {
		_, n, ok := String(b)
		if !ok {
			return fmt.Errorf("column definition: %w", errShort)
		}
		b = b[n:]
	}

	if len(b) < 11 {
		return fmt.Errorf("column definition: %w", errShort)
	}

	c.Charset = binary.LittleEndian.Uint16(b[1:])
	c.Length = binary.LittleEndian.Uint32(b[3:])
	c.Type = Type(b[7])
	c.Flags = ColumnFlag(binary.LittleEndian.Uint16(b[8:]))
	c.Decimals = b[10]

	return nil
}
