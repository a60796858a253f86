package setting

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Unset is the value that returns a setting to its default, as if nobody had ever set it.
const Unset = ""

// Values are the settings as they are now, by name, all of them.
type Values map[string]string

// Defaults are the settings of a catalog in which nothing was set.
func Defaults() Values {
	v := Values{}
	for _, s := range All() {
		v[s.Name] = s.Default
	}
	return v
}

// Bool returns whether a setting is ON.
func (v Values) Bool(name string) bool { return v[name] == "ON" }

// Int returns a number.
func (v Values) Int(name string) int64 {
	n, err := strconv.ParseInt(v[name], 10, 64)
	if err != nil {
		n, _ = strconv.ParseInt(Defaults()[name], 10, 64)
	}
	return n
}

// Duration returns a length of time.
func (v Values) Duration(name string) time.Duration {
	d, err := ddl.Duration(v[name])
	if err != nil {
		d, _ = ddl.Duration(Defaults()[name])
	}
	return d
}

// Reading is the values as they were read, together with what is known about them.
type Reading struct {
	Values
	// Revision identifies these values: once a setting has changed, nobody who has an older
	// revision may delete.
	Revision uint64
	said     map[string]bool
	unread   map[string]string
}

// NewReading is one in which nothing was set.
func NewReading(revision uint64) Reading {
	return Reading{Values: Defaults(), Revision: revision, said: map[string]bool{}, unread: map[string]string{}}
}

// Take adds a value that somebody has set. A setting that this version does not know is left out; of
// one that it knows, a value that Check would not have stored is kept apart: see Unread.
func (r Reading) Take(name, value string) {
	s, known := Find(name)
	if !known || value == Unset {
		return
	}

	if _, changed, refusal := s.Check(value, time.UTC); changed != nil || refusal != nil {
		r.unread[name] = value
		return
	}

	r.Values[name], r.said[name] = value, true
}

// Unread says which setting has a value that this version does not understand, as another version
// may have stored, or somebody by hand; empty when there is none. It may be a limit, so whoever
// deletes must not go by its default.
func (r Reading) Unread() string {
	for _, name := range slices.Sorted(maps.Keys(r.unread)) {
		return fmt.Sprintf("%s has the value '%s', which this version does not understand: "+
			"SET GLOBAL %[1]s = DEFAULT, or to another value", name, r.unread[name])
	}
	return ""
}

// Shown are the values for people: of one that this version does not understand, what is stored, since nobody goes by
// its default.
func (r Reading) Shown() Values {
	shown := maps.Clone(r.Values)
	maps.Copy(shown, r.unread)
	return shown
}

// Said reports whether somebody has set a setting, even to its default.
func (r Reading) Said(name string) bool { return r.said[name] }

// Bound is a number that limits something only once it has been set; 0 for no limit.
func (r Reading) Bound(name string) int {
	if !r.Said(name) {
		return 0
	}
	return int(r.Int(name))
}

// Rates are those of ttl_rate_schedule; nil for none.
func (v Values) Rates() *ddl.Rates {
	rates, err := ddl.ParseRates(v[RateSchedule])
	if err != nil {
		return nil // nothing is said, which is no speed
	}
	return &rates
}

// Hosts are the addresses that a setting names, with their ports.
func (v Values) Hosts(name string) []string {
	all, err := readHosts(v[name])
	if err != nil {
		return nil // of another version
	}
	return all
}

// Window is the one that TiDB's variables set, in UTC; nil if they set none, or one that is never closed,
// which they do by default.
func (v Values) Window() *ddl.Window {
	start, err := time.Parse(timeLayout, v[WindowStart])
	if err != nil {
		return nil
	}
	end, err := time.Parse(timeLayout, v[WindowEnd])
	if err != nil {
		return nil
	}

	w := ddl.NewWindow(start.UTC(), end.UTC())
	if w.Closed() == 0 {
		return nil
	}
	return &w
}
