package tables

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Column is one column, as far as the literal writer needs to know it.
type Column struct {
	Name      string
	Kind      Kind
	Charset   string // of Text
	Collation string // of Text
	Values    uint64 // of Ordinal: the largest number a value can have
	Digits    int    // of a second's fraction: those of Datetime, Timestamp and Time
	Nullable  bool
	Generated bool
	Renewed   bool // by every UPDATE that does not set it (ON UPDATE CURRENT_TIMESTAMP)
	Invisible bool
	Primary   bool // part of the primary key

	Declared ddl.Column // as far as a TTL depends on it
}

// Value is one column's value, exact: digits, a date, or the column's own bytes.
type Value string

// Quoted is the column's name as written in a statement.
func (c Column) Quoted() string { return ddl.Quote(c.Name) }

// Select is the expression that reads the column as a Value.
func (c Column) Select() string {
	switch c.Kind {
	case Bits, Ordinal:
		return c.Quoted() + " + 0"
	case Text, Bytes:
		// The column's own bytes: the connection's character set is not asked to carry them.
		return "CAST(" + c.Quoted() + " AS BINARY)"
	default:
		return "CAST(" + c.Quoted() + " AS CHAR)"
	}
}

// Literal writes v so that comparing the column with it is exact and can use an index.
func (c Column) Literal(v Value) (string, error) {
	switch c.Kind {
	case Number, Bits, Ordinal:
		return number(string(v))
	case Bytes:
		return hexLiteral(v), nil
	case Text:
		if !word(c.Charset) || !word(c.Collation) {
			return "", fmt.Errorf("column %s has no usable character set", c.Name)
		}
		return "_" + c.Charset + " " + hexLiteral(v) + " COLLATE " + c.Collation, nil
	case Date, Datetime, Timestamp, Time, Year, Named:
		return quotedPlain(string(v))
	default:
		return "", fmt.Errorf("column %s has a type that cannot be compared exactly", c.Name)
	}
}

func hexLiteral(v Value) string { return "x'" + hex.EncodeToString([]byte(v)) + "'" }

// number accepts what the servers print for exact numbers, and nothing else.
func number(s string) (string, error) {
	digits := strings.TrimPrefix(s, "-")
	whole, fraction, dotted := strings.Cut(digits, ".")
	if !allDigits(whole) || dotted && !allDigits(fraction) {
		return "", fmt.Errorf("%q is not a number", s)
	}
	return s, nil
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// quotedPlain quotes dates and the text forms of UUID and INET, which hold none of the characters
// that need escaping.
func quotedPlain(s string) (string, error) {
	if strings.Trim(s, "0123456789abcdefABCDEF:.- +/") != "" {
		return "", fmt.Errorf("%q is not a plain value", s)
	}
	return "'" + s + "'", nil
}

func word(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// enumerated is how many values of an Ordinal a comparison may list: all ENUMs but the very
// largest, SETs of twelve names.
const enumerated = 4096

// compare writes `column op value`. ENUM and SET are listed value by value if they have few:
// neither server uses an index for < and > on their numbers, both do for IN.
func (c Column) compare(op string, v Value) (string, error) {
	lit, err := c.Literal(v)
	if err != nil {
		return "", err
	}
	if c.Kind != Ordinal || op == "=" || c.Values > enumerated {
		return c.Quoted() + " " + op + " " + lit, nil
	}
	n, err := strconv.ParseUint(lit, 10, 64)
	if err != nil {
		return "", fmt.Errorf("%q is not a number of an enumeration", v)
	}
	return c.Quoted() + " " + listed(op, n, c.Values), nil
}

// listed writes a comparison with n out as the list of numbers from 0 to last that satisfy it, plus
// one that no row has: with a single number left, both servers would make the column a constant and
// then sort by it.
func listed(op string, n, last uint64) string {
	var in []string
	for i := uint64(0); i <= last; i++ {
		if op == ">" && i > n || op == ">=" && i >= n || op == "<" && i < n || op == "<=" && i <= n {
			in = append(in, strconv.FormatUint(i, 10))
		}
	}
	in = append(in, strconv.FormatUint(last+1, 10))
	return "IN (" + strings.Join(in, ", ") + ")"
}
