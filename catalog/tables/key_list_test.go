package tables

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestListsAreBounded: lists have all keys in their order, and none is much longer as text than it may be.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	text := Column{Name: "text", Kind: Text, Charset: "utf8mb4", Collation: "utf8mb4_bin"}
	for name, columns := range map[string]Columns{
		"number": {{Name: "id", Kind: Number}},
		"bytes":  {{Name: "id", Kind: Bytes}},
		"text":   {text},
		"both":   {{Name: "id", Kind: Number}, text},
		"apart":  {{Name: strings.Repeat("n", 60), Kind: Ordinal}, text},
	} {
		for _, length := range []int{1, 500, ListBytes} {
			var keys, got []Key
			for i := range max(12_000/length, 3) {
				keys = append(keys, make(Key, len(columns)))
				for j, c := range columns {
					v := strconv.Itoa(1000 + i)
					if c.Kind == Text || c.Kind == Bytes {
						v += strings.Repeat("x", length)
					}
					keys[i][j] = Value(v)
				}
			}
			for list := range columns.Lists(keys, 1000) {
				in, err := columns.In(list)
				if err != nil {
					t.Fatal(err)
				}
				if len(list) > 1000 || len(in) > ListBytes*11/10 && len(list) > 1 {
					t.Errorf("%s of %d bytes: a list names %d keys and has %d bytes", name, length, len(list), len(in))
				}
				got = append(got, list...)
			}
			if !slices.EqualFunc(got, keys, Key.Equal) {
				t.Errorf("%s of %d bytes: lists have %d keys, or others than the %d", name, length, len(got), len(keys))
			}
		}
	}
}
