package ddl

import (
	"slices"
	"strings"
)

// IndexNamed finds the one with a name that servers compare without regard to case, such as a
// column; -1 if there is none. Their tables know fewer pairs of letters than ours, so two may have
// what is one name to us: then the exact name counts.
func IndexNamed[T any](all []T, nameOf func(T) string, name string) int {
	if i := slices.IndexFunc(all, func(v T) bool { return nameOf(v) == name }); i >= 0 {
		return i
	}
	return slices.IndexFunc(all, func(v T) bool { return strings.EqualFold(nameOf(v), name) })
}
