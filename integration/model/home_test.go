package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A home is a set of markers, written as a string so that policies can be compared: "-1,-2".

func homeOf(t table) string {
	var markers []string
	for _, m := range slices.Sorted(maps.Values(t.markers)) {
		markers = append(markers, strconv.Itoa(m))
	}
	return strings.Join(markers, ",")
}

func isHome(home string, marker int) bool {
	return slices.Contains(strings.Split(home, ","), strconv.Itoa(marker))
}

// atHome puts the markers that a table has got in the place of unborn.
func atHome(home string, t table) string {
	markers := strings.Split(home, ",")
	known := slices.DeleteFunc(markers, func(m string) bool { return m == unborn })
	if len(known) == strings.Count(home, ",")+1 {
		return home
	}
	return bothHomes(strings.Join(known, ","), homeOf(t))
}

// bothHomes is either of two.
func bothHomes(a, b string) string {
	switch {
	case a == b || b == "":
		return a
	case a == "":
		return b
	}
	all := slices.Sorted(slices.Values(strings.Split(a+","+b, ",")))
	return strings.Join(slices.Compact(all), ",")
}

func comparePolicies(a, b policy) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
