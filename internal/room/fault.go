package room

import (
	"parley/internal/audit"
	"parley/protocol/kibitz"
)

// Fault is why the hub ended a connection by itself. The trail has it as the detail
// of an entry blocked.
type Fault string

// What clients are cut for.
const (
	FaultFlood     Fault = "flood"      // it went on though it was told to wait
	FaultBadFrames Fault = "bad frames" // too much that is no frame
	FaultOversize  Fault = "oversize"   // a frame above the limit
	FaultSlow      Fault = "slow"       // it did not read what it was sent
)

// code is the fault's code; a slow reader was refused nothing.
func (f Fault) code() kibitz.Code {
	switch f {
	case FaultFlood:
		return kibitz.LimitRate
	case FaultBadFrames:
		return kibitz.ProtoBadFrame
	case FaultOversize:
		return kibitz.LimitSize
	}
	return ""
}

// noteFault writes down why a connection was cut.
func (r *room) noteFault(c *conn, f Fault) {
	n := note{kind: audit.RoomBlocked, actor: "hub", detail: string(f), code: f.code()}
	switch {
	case f == "":
		return
	case c.p != nil:
		n.id, n.keyID = c.p.ID, c.p.KeyID
	default:
		n.actor = c.actor() // nobody yet
	}
	r.note(n)
}
