package tables

import "encoding/json"

// Hold is why a table or a partition is held: nothing is deleted from it until a person, or a node,
// lets it go. The code decides, and the text is for people.
type Hold struct {
	Code HoldCode `json:"code"`
	Text string   `json:"text"`
}

// HoldCode is what holds.
type HoldCode string

// What holds.
const (
	// FirstSight holds a table on a member of a cluster that has not seen it under its policy before.
	// The shape does not tell it from one that has taken its name since the policy was declared on
	// another member; a node there does (Vouch).
	FirstSight HoldCode = "first sight"

	Replaced  HoldCode = "replaced"  // the partition has another id than before
	Made      HoldCode = "made"      // it was made around the proxy, and has rows in it
	Exchanged HoldCode = "exchanged" // it came from elsewhere while a statement was changing the table
	Scattered HoldCode = "scattered" // it may have got rows of one that was held
	Uncoded   HoldCode = "uncoded"   // for what a version wrote that had only sentences
)

const firstSightText = "this server sees the table for the first time: a node on another member is asked whether it " +
	"is the one the policy was declared on"

// HeldAtFirstSight is the hold of what a server has not seen before.
func HeldAtFirstSight() Hold { return Hold{FirstSight, firstSightText} }

// HoldOf is a hold as it is stored. A text without a code was written by an earlier version.
func HoldOf(code, text string) Hold {
	switch {
	case code != "":
		return Hold{HoldCode(code), text}
	case text == string(FirstSight):
		return HeldAtFirstSight()
	case text != "":
		return Hold{Uncoded, text}
	default:
		return Hold{}
	}
}

// Holds reports whether there is one.
func (h Hold) Holds() bool { return h.Code != "" }

// Lasts reports whether there is one that only a person ends.
func (h Hold) Lasts() bool { return h.Holds() && h.Code != FirstSight }

// UnmarshalJSON reads a hold, or the text alone, which earlier versions wrote.
func (h *Hold) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*h = HoldOf("", text)
		return nil
	}

	type plain Hold // without this method
	return json.Unmarshal(data, (*plain)(h))
}

// elsewhere is the hold of a place that may have got rows of one that is held like this.
func (h Hold) elsewhere() Hold {
	if h.Code == Scattered {
		return h
	}
	return Hold{Scattered, "it may have got rows that were held: " + h.Text}
}

// heldUntilArmed is a hold that only arming the policy ends.
func heldUntilArmed(code HoldCode, why string) Hold {
	return Hold{code, why + ": look at it, then ALTER TABLE … TTL_ENABLE='ON'"}
}
