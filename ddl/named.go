package ddl

import (
	"slices"
	"strings"
)

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
