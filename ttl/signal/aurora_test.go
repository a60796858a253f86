package signal

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// aurora: of a table with the columns that Aurora documents, readers count and the writer does not; who
// is gone holds nothing back, who is silent is unknown, and other servers are not asked again.
func (b *bed) aurora(t *testing.T) {
	table := b.schema + ".replica_host_status"
	a := newAurora(table)
	defer func() { b.settings = setting.Defaults() }()
	read := func() map[string]Reading {
		t.Helper()
		all, err := a.Read(t.Context(), Look{Server: b.db, Settings: b.settings})
		if err != nil {
			t.Fatal(err)
		}
		by := map[string]Reading{}
		for _, r := range all {
			by[r.Source] = r
		}
		return by
	}

	if all := read(); len(all) != 0 {
		t.Errorf("where there is no such table it says %v", all)
	}
	b.exec("CREATE TABLE "+table+" (SERVER_ID VARCHAR(100), SESSION_ID VARCHAR(100), CPU FLOAT, "+
		"LAST_UPDATE_TIMESTAMP DATETIME(6), REPLICA_LAG_IN_MILLISECONDS FLOAT)",
		"INSERT INTO "+table+" VALUES ('w', 'MASTER_SESSION_ID', 1, '2026-05-05 12:00:00.5', 0), "+
			"('near', 'a', 1, '2026-05-05 12:00:00', 19.6), ('far', 'b', 1, '2026-05-05 12:00:00.1', 2500), "+
			"('silent', 'c', 1, '2026-05-05 11:59:00', 5), ('ghost', 'd', 1, '2026-05-05 11:00:00', 90000), "+
			"('mute', 'e', 1, '2026-05-05 12:00:00', NULL), ('timeless', 'f', 1, NULL, 5)")
	if all := read(); len(all) != 0 {
		t.Errorf("a server that is not Aurora is asked again at once: %v", all)
	}

	a = newAurora(table)
	all := read()
	if r := all["near"]; len(all) != 6 || r.State != Measured || r.Value != 20 || r.Pressure() > 0.1 {
		t.Errorf("it says %v", all)
	}
	if r := all["far"]; r.State != Measured || r.Value != 2500 || r.Pressure() < 2 {
		t.Errorf("of one that is behind it says %v", r)
	}
	if r := all["ghost"]; r.State != NotSeen || !strings.Contains(r.Detail, "gone") || r.Pressure() != 0 {
		t.Errorf("of one that is gone it says %v", r)
	}
	for _, name := range []string{"silent", "mute", "timeless"} {
		if r := all[name]; r.State != Unknown || !r.Hold {
			t.Errorf("of one that is %s it says %v", name, r)
		}
	}

	b.unreadableAurora(t, a, table)
	b.settings[setting.ThrottleLagUnknown] = "floor"
	if r := read()["silent"]; r.State != Unknown || r.Hold {
		t.Errorf("where nothing is to be held it says %v", r)
	}
	b.settings[setting.ThrottleReplicas] = "db2"
	if all := read(); len(all) != 0 {
		t.Errorf("although others were named it says %v", all)
	}
}

// unreadableAurora: while the table cannot be read, each reader that is not gone is unknown.
func (b *bed) unreadableAurora(t *testing.T, a *aurora, table string) {
	t.Helper()
	w := NewWatch(a)
	b.exec("ALTER TABLE " + table + " RENAME COLUMN SERVER_ID TO ID")
	var all []Reading
	until(t, "doubt", func() bool {
		w.Ask(t.Context(), Look{Server: b.db, Settings: b.settings})
		pass(t, 100*time.Millisecond)
		all = w.Readings()
		return len(all) > 0
	})
	b.exec("ALTER TABLE " + table + " RENAME COLUMN ID TO SERVER_ID")
	if len(all) != 5 {
		t.Errorf("while it cannot be read it says %v", all)
	}
	for _, r := range all {
		if r.State != Unknown || !r.Hold || r.Source == "" || r.Source == "ghost" {
			t.Errorf("of %q it says %+v", r.Source, r)
		}
	}
}

// TestAuroraThatReportsNothing: a table that nobody writes any more says nothing good, and a lag that
// stays is not our doing.
func TestAuroraThatReportsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAurora(auroraTable)
		m := member{name: "r", reported: 1000}
		m.lag.Float64, m.lag.Valid = 5000, true
		look := func() Reading {
			a.heard([]member{m})
			return a.reading(m, time.Second, true)
		}

		if r := look(); r.State != Measured || r.Pressure() < 5 {
			t.Errorf("it says %v", r)
		}
		time.Sleep(2 * auroraSilent)
		if r := look(); r.State != Unknown || !strings.Contains(r.Detail, "no member has reported") {
			t.Errorf("of old news it says %v", r)
		}
		stays := func() Reading {
			for range 8 * 60 {
				time.Sleep(time.Second)
				m.reported++
				look()
			}
			return look()
		}
		if r := stays(); r.State != Unknown || !strings.Contains(r.Detail, "has not fallen") {
			t.Errorf("of a lag that stays it says %v", r)
		}

		time.Sleep(time.Hour) // in which nothing is deleted
		m.reported += 3600
		if r := look(); r.State != Measured {
			t.Errorf("of a lag that is there again after a rest it says %v", r)
		}
		if r := stays(); r.State != Unknown {
			t.Errorf("of a lag that stays after a rest it says %v", r)
		}
	})
}
