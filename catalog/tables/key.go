package tables

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Key is a position in a table: one value for each column of the paging key.
type Key []Value

// Equal reports whether both keys hold the same bytes.
func (k Key) Equal(o Key) bool { return slices.Equal(k, o) }

// Encode writes the key as JSON for the catalog: printable ASCII as a string, other bytes as
// {"hex": "…"}. The nil key, an open end, is the empty string.
func (k Key) Encode() string {
	if k == nil {
		return ""
	}

	parts := make([]any, len(k))
	for i, v := range k {
		parts[i] = string(v)
		if strings.ContainsFunc(string(v), func(r rune) bool { return r < ' ' || r > '~' }) {
			parts[i] = map[string]string{"hex": hex.EncodeToString([]byte(v))}
		}
	}

	text, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings always marshal
	}

	return string(text)
}

// DecodeKey reads what Encode wrote.
func DecodeKey(text string) (Key, error) {
	if text == "" {
		return nil, nil
	}

	var parts []json.RawMessage
	if err := json.Unmarshal([]byte(text), &parts); err != nil {
		return nil, fmt.Errorf("decode key %q: %w", text, err)
	}

	key := make(Key, len(parts))
	for i, part := range parts {
		v, err := decodeValue(part)
		if err != nil {
			return nil, fmt.Errorf("decode key %q: %w", text, err)
		}
		key[i] = v
	}

	return key, nil
}

func decodeValue(part json.RawMessage) (Value, error) {
	var plain string
	if json.Unmarshal(part, &plain) == nil {
		return Value(plain), nil
	}
	var binary struct {
		Hex string `json:"hex"`
	}
	if err := json.Unmarshal(part, &binary); err != nil {
		return "", err
	}
	raw, err := hex.DecodeString(binary.Hex)
	return Value(raw), err
}
