package room

import (
	"context"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/protocol/kibitz"
)

// right is why somebody may do everything in a room; empty: nothing says so.
type right string

const (
	asOwner right = "owner"
	asHost  right = "host"  // the owner made them one
	asAdmin right = "admin" // may reach everybody's things, and the trail says so
	asHub   right = "hub"   // the hub itself, for somebody it has asked
)

// rightOf is the right of a person whom this hub knows.
func (r *room) rightOf(person string, hubOwner, admin bool) right {
	switch {
	case r.owns(person, hubOwner):
		return asOwner
	case r.hosting(person):
		return asHost
	case admin:
		return asAdmin
	}
	return ""
}

// rightOfActor is by what right somebody acts on the room through the API.
func (r *room) rightOfActor(a identity.Actor) right {
	if a.Person.Kind == identity.KindHub {
		return asHub
	}
	return r.rightOf(a.Person.ID, a.Owner, a.Admin())
}

// hostRight is by what right somebody who comes in is a host by the hub's word. A
// hosted agent never is, whoever it is for.
func (r *room) hostRight(from arrival) right {
	if from.Hosted != nil || !from.Person {
		return ""
	}
	return r.rightOf(from.PrincipalID, from.Owner, from.Admin)
}

// cannotBeBarred tells that somebody's room it is, or an admin's hub: no host keeps them out.
func (r *room) cannotBeBarred(from arrival) bool {
	right := r.hostRight(from)
	return right == asOwner || right == asAdmin
}

// hosting tells whether the owner's word that somebody is a host holds now: for as long
// as it was given, and while whoever gave it could give it: with a credential that stands,
// and the room still theirs.
func (r *room) hosting(person string) bool {
	h, ok := r.hostings[person]
	if !ok || person == "" || !h.Expires.IsZero() && !time.Now().Before(h.Expires) {
		return false
	}
	if r.e.d.People == nil || h.giver.Person.ID == "" {
		return true
	}
	ctx, cancel := context.WithTimeout(r.e.ctx, writeTime)
	defer cancel()
	giver, err := r.e.d.People.Standing(ctx, h.giver)
	return err == nil && (r.owns(giver.Person.ID, giver.Owner) || giver.Admin())
}

// owns tells whether the room is somebody's. One of nobody, as very old ones may be, is
// the hub's owner's.
func (r *room) owns(person string, hubOwner bool) bool {
	return r.owner != "" && person == r.owner || r.owner == "" && hubOwner
}

// rehost works out anew who is a host by the hub's word, after that has changed.
func (r *room) rehost() {
	for _, p := range r.order {
		if p.Kind != kibitz.Human || p.PrincipalID == "" || !p.Operator && r.rightOf(p.PrincipalID, false, false) == "" {
			continue
		}
		if p.Operator = p.Admin || r.rightOf(p.PrincipalID, p.HubOwner, false) != ""; p.Operator {
			p.Proven = true
		}
	}
	if r.rank() {
		r.allCaps(time.Now())
	}
}

// open are the calls that anybody with the scope may make: what a room is called, how
// many are in it, whether the caller is, and a pass for oneself where one may enter.
// Everything else is for those who manage it.
var open = map[string]bool{"info": true, "pass": true, opPresent: true}

// opPresent asks whether the caller is in the room; the answer is its permission.
const opPresent = "present"

// present refuses whoever is not in the room by a connection of their own, or has not the
// grant. An agent of a person is somebody else, and owning a room is not being in it.
func (r *room) present(who identity.Actor, may kibitz.Capability) error {
	if r.policy.Sealed {
		return deny(kibitz.SealRequired, "this room is sealed: the hub keeps nothing that is shown in it")
	}
	now := seconds(time.Now())
	for _, p := range r.order {
		if who.Human() && p.Kind == kibitz.Human && p.PrincipalID == who.Person.ID && p.conn != nil && p.may(bit(may), now) {
			return nil
		}
	}
	return deny(kibitz.PerceiveDenied, "only who is in the room, with the grant "+string(may)+", has its files")
}

// permit refuses a call of somebody who does not manage the room. An admin's is let
// through, and told apart in the trail.
func (r *room) permit(c *call) error {
	if open[c.Op] {
		return nil
	}
	switch r.rightOfActor(c.By) {
	case asOwner, asHub:
		return nil
	case asHost:
		if appointing[c.Op] && !(c.Op == opUnhost && c.ID == c.By.Person.ID) {
			return r.refuseCall(c, "only the owner of the room decides about it and its hosts")
		}
		return nil
	case asAdmin:
		r.note(note{kind: auditHost, actor: c.By.String(), detail: "as admin: " + c.Op})
		return nil
	}
	return r.refuseCall(c, "only the owner of the room, its hosts and an admin may do this")
}

func (r *room) refuseCall(c *call, why string) error {
	r.note(note{kind: auditBlocked, actor: c.By.String(), detail: c.Op, code: kibitz.HostDenied})
	return deny(kibitz.HostDenied, why)
}
