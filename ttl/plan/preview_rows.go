package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// measure says how many rows go along with those of some keys, and with those that most rows of another
// table point at.
func (v *preview) measure(ctx context.Context, keys []tables.Key) (string, error) {
	f := v.staying.Along()
	if f == nil || len(keys) == 0 {
		return "", nil
	}

	crowd, whole, err := v.crowd(ctx, f)
	if err != nil {
		return "", err
	}
	among := "the first, and those that most rows of another table point at"
	if !whole {
		among += fmt.Sprintf(", as far as the first %d entries of an index tell", previewCrowd)
	}

	largest, measured := 0, map[string]bool{}
	for _, key := range append(crowd, keys...) {
		if measured[key.Encode()] {
			continue
		}
		measured[key.Encode()] = true
		n, err := f.Measure(ctx, v.q, []tables.Key{key}, previewRows)
		if errors.Is(err, family.ErrTooMany) {
			return fmt.Sprintf("the largest takes more than %d others along", previewRows), nil
		}
		if err != nil {
			return "", err
		}
		largest = max(largest, n)
	}
	return fmt.Sprintf("the largest takes %d others along, of %d that were looked at (%s)", largest, len(measured),
		among), nil
}

// crowd are the keys of rows that are due and that most rows of another table point at, a few for each
// foreign key.
func (v *preview) crowd(ctx context.Context, f *family.Forest) (keys []tables.Key, whole bool, err error) {
	crowds, whole, err := f.Crowded(ctx, v.q, previewCrowd)
	if err != nil {
		return nil, false, err
	}

	for _, some := range crowds[:min(len(crowds), previewKeys)] {
		if len(some) == 0 {
			continue
		}
		query, err := v.now.DueAmong(Range{}, some)
		if err != nil {
			return nil, false, err
		}
		found, err := QueryKeys(ctx, v.q, query, len(v.now.Key))
		if err != nil {
			return nil, false, err
		}
		due := map[string]bool{}
		for _, key := range found {
			due[key.Encode()] = true
		}
		some = slices.DeleteFunc(some, func(k tables.Key) bool { return !due[k.Encode()] })
		keys = append(keys, some[:min(len(some), 3)]...)
	}
	return keys, whole, nil
}

// sampleKeys reads the first keys that the chosen plan would come to, among a bounded number of
// rows.
func (v *preview) sampleKeys(ctx context.Context) ([]tables.Key, error) {
	if v.choice.Way == WalkIndex {
		entries, err := v.going(ctx, v.now.oldest(v.lookedAt()), len(v.now.Walk))
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

	return v.going(ctx, block+" LIMIT "+strconv.Itoa(v.lookedAt()), len(v.now.Key))
}

// lookedAt is among how many expired rows samples are searched.
func (v *preview) lookedAt() int {
	if v.staying.None() {
		return previewKeys
	}
	return previewRows
}

// going are the positions of the first rows that do not stay.
func (v *preview) going(ctx context.Context, query string, columns int) (positions []tables.Key, err error) {
	found, err := v.now.Find(ctx, v.q, query, columns)
	for _, row := range found {
		switch {
		case row.Stays:
			v.stay++
		case len(positions) < previewKeys:
			positions = append(positions, row.At)
		}
	}
	v.looked = len(found)
	return positions, err
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
		if find, err = v.now.WalkPage(Range{}, previewRows); err != nil {
			return nil, err
		}
		remove, err = v.now.DeleteKeys(keys[:min(2, len(keys))], "")
	case WalkRange, Census:
		if find, err = v.now.BlockEnd(Range{}, previewRows); err != nil {
			return nil, err
		}
		remove, err = v.now.DeleteRange(Range{To: keys[len(keys)-1]}, "")
	case DrainQueue: // where keys come from is nobody's table
		remove, err = v.now.DeleteKeys(keys[:min(2, len(keys))], "")
		return []string{remove}, err
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
