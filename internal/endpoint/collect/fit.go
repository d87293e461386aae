package collect

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// frameRoom is what a telemetry frame needs around its snapshot.
const frameRoom = 2 << 10

// Fit shortens a snapshot until it fits a frame of limit bytes: the section
// whose lists are longest loses half of its longest list, and says so, again
// and again. A section that cannot be shortened is left out.
func Fit(snapshot map[string]jsontext.Value, limit int) map[string]jsontext.Value {
	for size(snapshot) > limit-frameRoom {
		name := largest(snapshot)
		if name == "" {
			return snapshot
		}
		if shorter, ok := halveList(snapshot[name]); ok {
			snapshot[name] = shorter
			continue
		}
		delete(snapshot, name)
	}
	return snapshot
}

func size(snapshot map[string]jsontext.Value) int {
	n := 2
	for name, raw := range snapshot {
		n += len(name) + len(raw) + 4
	}
	return n
}

func largest(snapshot map[string]jsontext.Value) string {
	best := ""
	for _, name := range slices.Sorted(maps.Keys(snapshot)) {
		if best == "" || len(snapshot[name]) > len(snapshot[best]) {
			best = name
		}
	}
	return best
}

// halveList drops the second half of a section's longest list.
func halveList(raw jsontext.Value) (jsontext.Value, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil, false
	}
	longest := ""
	var list []json.RawMessage
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var l []json.RawMessage
		if json.Unmarshal(members[name], &l) == nil && len(l) > 0 && (longest == "" || len(members[name]) > len(members[longest])) {
			longest, list = name, l
		}
	}
	if longest == "" {
		return nil, false
	}
	cut, err := json.Marshal(list[:len(list)/2])
	if err != nil {
		return nil, false
	}
	members[longest], members["truncated"] = cut, json.RawMessage("true")
	out, err := json.Marshal(members)
	return out, err == nil
}
