package kenny

import (
	"encoding/json"
	"time"
)

// Control is where the switch of the person at a machine stands. The protocol has
// no frame for it: an endpoint that has something to tell does so in the open parts
// of register and log, which every hub takes and ours understands.
type Control string

// The positions, from the loosest to the tightest.
const (
	// ControlOn: calls run.
	ControlOn Control = "on"
	// ControlAsk: what changes the machine waits for the person there.
	ControlAsk Control = "ask"
	// ControlOff: nothing that changes the machine runs.
	ControlOff Control = "off"
	// ControlPrivate: nothing that may show private things either.
	ControlPrivate Control = "private"
)

// ControlKey carries a position, in meta of a register and in fields of a log.
const ControlKey = "remote_control"

// ProgramKey is where an endpoint says in meta which program it is, and Program what
// ours says. Only to such a machine a hub offers its own program as an update.
const (
	ProgramKey = "program"
	Program    = "parley"
)

// Ours reports whether a machine said that it runs our endpoint. Those that knew
// ProgramKey not yet told where their switch stands, which nobody else does.
func (m Meta) Ours() bool {
	var program string
	if raw, said := m.Extra[ProgramKey]; said {
		return json.Unmarshal(raw, &program) == nil && program == Program
	}
	return m.Control() != ""
}

// TargetControl is the target of the log record that tells of a change.
const TargetControl = "endpoint/control"

// AskTime is how long a call may wait for the person at the machine; a hub that
// knows of the asking waits that much longer.
const AskTime = 2 * time.Minute

// Known reports whether the position is one of the four.
func (c Control) Known() bool {
	switch c {
	case ControlOn, ControlAsk, ControlOff, ControlPrivate:
		return true
	}
	return false
}

// Tightness orders the positions: 0 is on.
func (c Control) Tightness() int {
	switch c {
	case ControlOn:
		return 0
	case ControlAsk:
		return 1
	case ControlOff:
		return 2
	}
	return 3
}

// Control is the position a machine reports when it connects; empty if it says
// nothing that is known.
func (m Meta) Control() Control { return controlIn(m.Extra[ControlKey]) }

// Control is the position a log record tells of; empty for every other record.
func (l *Log) Control() Control {
	if l.Target != TargetControl {
		return ""
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(l.Fields, &fields) != nil {
		return ""
	}
	return controlIn(fields[ControlKey])
}

func controlIn(raw []byte) Control {
	var c Control
	if json.Unmarshal(raw, &c) != nil || !c.Known() {
		return ""
	}
	return c
}
