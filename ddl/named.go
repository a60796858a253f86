package ddl

import (
	"slices"
	"strings"
)

// SameName reports whether two names are one to every server: they differ by the case of ASCII letters only.
// Of other letters each server knows some, and no two know the same.
func SameName(a, b string) bool { return lowerASCII(a) == lowerASCII(b) }

func lowerASCII(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, name)
}

// IndexNamed finds the one with a name that servers compare without regard to case, such as a
// column; -1 if there is none. Their tables know fewer pairs of letters than ours, so two may have
// what is one name to us: then the exact name counts, and no other is taken for either.
func IndexNamed[T any](all []T, nameOf func(T) string, name string) int {
	if i := slices.IndexFunc(all, func(v T) bool { return nameOf(v) == name }); i >= 0 {
		return i
	}
	folds := func(v T) bool { return strings.EqualFold(nameOf(v), name) }
	i := slices.IndexFunc(all, folds)
	if i >= 0 && slices.ContainsFunc(all[i+1:], folds) {
		return -1
	}
	return i
}
