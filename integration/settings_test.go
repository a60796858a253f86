package integration

import (
	"maps"
	"slices"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestEverySettingDoesWhatItSays turns every setting and every table option on a real server and
// looks from outside, at what the server counts, logs and keeps, whether it does what its
// description says: for a job that is running, where there can be one, from the moment that the
// statement has answered.
func TestEverySettingDoesWhatItSays(t *testing.T) {
	t.Parallel()
	kinds := []map[string]func(*trial){limitTrials, timeTrials, brakeTrials, throttleTrials, replicaTrials}
	names := ddl.OptionNames()
	for _, s := range setting.All() {
		names = append(names, s.Name)
	}

	for _, name := range names {
		if !slices.ContainsFunc(kinds, func(trials map[string]func(*trial)) bool { return trials[name] != nil }) {
			t.Errorf("nothing shows that %s does what it says", name)
		}
	}

	for _, flavour := range mysqltest.Flavours {
		for half := range 2 { // on a server each, so that no core waits for the last of them
			t.Run(string(flavour), func(t *testing.T) {
				t.Parallel()
				on, n := newTrial(t, flavour), 0
				for _, trials := range kinds {
					for _, name := range slices.Sorted(maps.Keys(trials)) {
						if n++; n%2 == half {
							t.Run(name, func(t *testing.T) { on.in(t, trials[name]) })
						}
					}
				}
			})
		}
	}
}
