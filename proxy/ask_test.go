package proxy

import (
	"maps"
	"testing"
	"time"
)

// What servers say about themselves, and what follows.
func TestFacts(t *testing.T) {
	t.Parallel()
	well := facts{
		variables: map[string]string{
			"read_only": "OFF", "innodb_read_only": "OFF", "connect_timeout": "10", "wsrep_on": "ON",
			"wsrep_reject_queries": "NONE",
		},
		galera: map[string]string{
			"wsrep_cluster_status": "Primary", "wsrep_ready": "ON", "wsrep_local_state": "4",
			"wsrep_local_state_comment": "Synced",
		},
	}
	for name, c := range map[string]struct {
		change func(f *facts)
		want   State
	}{
		"well":                  {func(*facts) {}, Writable},
		"no cluster":            {func(f *facts) { f.galera = nil }, Writable},
		"read-only":             {func(f *facts) { f.variables["read_only"] = "ON" }, ReadOnly},
		"read-only, number":     {func(f *facts) { f.variables["read_only"] = "1" }, ReadOnly},
		"read-only, MariaDB 12": {func(f *facts) { f.variables["read_only"] = "NO_LOCK_NO_ADMIN" }, ReadOnly},
		"a reader of Aurora":    {func(f *facts) { f.variables["innodb_read_only"] = "ON" }, ReadOnly},
		"rejects":               {func(f *facts) { f.variables["wsrep_reject_queries"] = "ALL" }, Down},
		"not primary":           {func(f *facts) { f.galera["wsrep_cluster_status"] = "non-Primary" }, Down},
		"not ready":             {func(f *facts) { f.galera["wsrep_ready"] = "OFF" }, Down},
		"donor":                 {func(f *facts) { f.galera["wsrep_local_state"] = "2" }, Desynced},
		"donor and read-only": {func(f *facts) {
			f.galera["wsrep_local_state"], f.variables["read_only"] = "2", "ON"
		}, ReadOnly},
		"alone":               {func(f *facts) { f.group = group{"OFFLINE", 1, 0} }, Writable},
		"online":              {func(f *facts) { f.group = group{"ONLINE", 3, 1} }, Writable},
		"without a majority":  {func(f *facts) { f.group = group{"ONLINE", 3, 2} }, ReadOnly},
		"half is no majority": {func(f *facts) { f.group = group{"ONLINE", 2, 1} }, ReadOnly},
		"recovering":          {func(f *facts) { f.group = group{"RECOVERING", 3, 0} }, ReadOnly},
	} {
		f := facts{variables: maps.Clone(well.variables), galera: maps.Clone(well.galera)}
		c.change(&f)
		if h := f.health(); h.State != c.want || (h.Reason == "") != (c.want == Writable) {
			t.Errorf("%s: got %v (%s), want %v", name, h.State, h.Reason, c.want)
		}
		if f.connectTimeout() != 10*time.Second {
			t.Errorf("%s: got a timeout of %v", name, f.connectTimeout())
		}
	}
}
