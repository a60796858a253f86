package tables

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestHoldsOfEarlierVersions: what was stored before there were codes holds as it did.
func TestHoldsOfEarlierVersions(t *testing.T) {
	t.Parallel()
	for stored, want := range map[string]Hold{
		`{"held": "first sight"}`: HeldAtFirstSight(),
		`{"held": "because"}`:     {Uncoded, "because"},
		`{"held": ""}`:            {},
		`{}`:                      {},
		`{"held": {"code": "made", "text": "because"}}`: {Made, "because"},
	} {
		var got Identity
		if err := json.Unmarshal([]byte(stored), &got); err != nil || got.Held != want {
			t.Errorf("%s: got %+v, %v, want %+v", stored, got.Held, err, want)
		}

		text, err := json.Marshal(got)
		var again Identity
		if err != nil || json.Unmarshal(text, &again) != nil || again.Held != want {
			t.Errorf("%s: written again as %s, %v", stored, text, err)
		}
	}
}

// TestScatteredOnce: rows that move on from a place that may have got them bring the same sentence.
func TestScatteredOnce(t *testing.T) {
	t.Parallel()
	held := Incarnation{{}, {Partition: "p", TableID: 1, Held: Hold{Made, "it is new"}}}
	for id := range uint64(3) {
		held = held.SpreadHolds(Incarnation{{}, {Partition: "q", TableID: id + 2}})
		if got := held[1].Held; got.Code != Scattered || strings.Count(got.Text, "were held") != 1 ||
			!strings.HasSuffix(got.Text, ": it is new") {
			t.Errorf("got %+v after %d moves", got, id+1)
		}
	}
}
