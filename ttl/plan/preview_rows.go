package plan

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/family"
)

// lookAtRows reads a few of the rows that are due, and the statements that would delete them.
func (v *preview) lookAtRows(ctx context.Context) error {
	if v.now.KeyIndex == "" {
		v.seen.Statements = []string{v.now.DeleteSome(previewRows, "")}
		return nil
	}

	for _, c := range v.now.Key {
		v.seen.KeyColumns = append(v.seen.KeyColumns, c.Name)
	}

	keys, err := v.sampleKeys(ctx)
	if err != nil {
		return err
	}

	for _, k := range keys {
		v.seen.Keys = append(v.seen.Keys, texts(k))
	}

	if v.families, err = v.measure(ctx, keys); err != nil {
		return err
	}
	v.seen.Statements, err = v.statements(keys)
	return err
}

// measure says how many rows go along with those of some keys.
func (v *preview) measure(ctx context.Context, keys []tables.Key) (string, error) {
	f := v.staying.Along()
	if f == nil || len(keys) == 0 {
		return "", nil
	}

	largest := 0
	for _, key := range keys {
		n, err := f.Measure(ctx, v.q, []tables.Key{key}, previewRows)
		if errors.Is(err, family.ErrTooMany) {
			return fmt.Sprintf("the largest takes more than %d others along", previewRows), nil
		}
		if err != nil {
			return "", err
		}
		largest = max(largest, n)
	}
	return fmt.Sprintf("the largest takes %d others along", largest), nil
}

// sampleKeys reads the first keys that the chosen plan would come to, among a bounded number of
// rows.
func (v *preview) sampleKeys(ctx context.Context) ([]tables.Key, error) {
	if v.choice.Way == WalkIndex {
		page, err := v.now.WalkPage(nil, previewKeys)
		if err != nil {
			return nil, err
		}

		entries, err := QueryKeys(ctx, v.q, page, len(v.now.Walk))
		for i := range entries {
			entries[i] = v.now.KeyOf(entries[i])
		}

		return entries, err
	}

	end, err := v.now.BlockEnd(Range{}, previewRows)
	if err != nil {
		return nil, err
	}

	to, err := QueryKey(ctx, v.q, end, len(v.now.Key))
	if err != nil {
		return nil, err
	}

	block, err := v.now.BlockKeys(Range{To: to})
	if err != nil {
		return nil, err
	}

	return QueryKeys(ctx, v.q, block+" LIMIT "+strconv.Itoa(previewKeys), len(v.now.Key))
}

// statements are the ones that a job would begin with, as far as the sample keys.
func (v *preview) statements(keys []tables.Key) ([]string, error) {
	if len(keys) == 0 || v.choice.Way == Refuse {
		return nil, nil
	}

	var find, remove string
	var err error
	switch v.choice.Way {
	case WalkIndex:
		if find, err = v.now.WalkPage(nil, previewRows); err != nil {
			return nil, err
		}
		remove, err = v.now.DeleteKeys(keys[:min(2, len(keys))], "")
	case WalkRange:
		if find, err = v.now.BlockEnd(Range{}, previewRows); err != nil {
			return nil, err
		}
		remove, err = v.now.DeleteRange(Range{To: keys[len(keys)-1]}, "")
	default:
		return []string{v.now.DeleteSome(previewRows, "")}, nil
	}

	return []string{find, remove}, err
}

// texts are the values of a key as people read them: bytes that are no text in hexadecimal.
func texts(k tables.Key) []string {
	list := make([]string, len(k))
	for i, v := range k {
		if list[i] = string(v); !utf8.ValidString(list[i]) {
			list[i] = fmt.Sprintf("0x%X", []byte(v))
		}
	}
	return list
}
