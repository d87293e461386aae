package room

import (
	"strings"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// describe takes over what an announce says, where it says it.
func (r *room) describe(p *participant, a *kibitz.Announce) {
	if a.Cam != nil {
		p.Cam = *a.Cam
	}
	if a.Avatar != nil {
		p.Avatar = *a.Avatar
	}
	if len(a.Meta) > 0 || p.Meta == nil {
		p.Meta, _ = kibitz.PublicMeta(a.Meta, p.Kind)
	}
	if p.Kind == kibitz.Agent && p.Anchor.Kind != anchorHosted {
		p.disclose(a.Meta)
	}
}

// disclose works out where an agent's perception goes: the anchor's word first,
// else its own. A backend means that it leaves the room.
func (p *participant) disclose(meta kibitz.Raw) {
	said := kibitz.Sanitise(meta) // meta has the same two members
	if len(meta) > 0 {
		p.Backend, p.Egress = said.Backend, said.Egress
	}
	if p.Allowed.Backend != "" {
		p.Backend = p.Allowed.Backend
	}
	p.Egress = p.Egress || p.Allowed.Egress || p.Backend != ""
}

// redescribe is describe for somebody who is in, with what must be on disk before it is
// answered: that it says to be an agent, and that an agent discloses something else.
func (r *room) redescribe(c *conn, a *kibitz.Announce) error {
	p := c.p
	if p.Kind == kibitz.Human && a.Kind() == kibitz.Agent {
		if err := r.declare(c); err != nil {
			return err
		}
	}
	before, old := p.effective(time.Now()), p.presence
	if a.Name != nil {
		p.Name = r.nameFor(p, *a.Name)
	}
	r.describe(p, a)
	if p.Backend == old.Backend && p.Egress == old.Egress {
		return nil
	}
	detail := p.takeBack(old)
	p.refreshGrant()
	if err := r.rewrite(p, old, r.entry(audit.RoomDisclosed, p.ID, p, detail)); err != nil {
		return err
	}
	r.regranted(p, before)
	return nil
}

// rewrite keeps a changed presence, or changes it back.
func (r *room) rewrite(p *participant, old presence, entry audit.Entry) error {
	err := r.write(func(tx *store.Tx) error { return r.save(tx, p) }, entry)
	if err != nil {
		p.presence = old
		p.refreshGrant()
	}
	return err
}

// takeBack makes an agent read-only whose model or egress is no longer what people had
// in mind when they let it act, until a host lets it again. The first word of one that
// nobody in the room has let act yet is no change.
func (p *participant) takeBack(old presence) string {
	g := p.grant()
	if len(g.Act) == 0 || old.Override == nil && old.Backend == "" && !old.Egress {
		return "now " + p.disclosed()
	}
	g.Act = []kibitz.Capability{}
	p.Override = &g
	return "now " + p.disclosed() + ", read-only until a host agrees"
}

// disclosed is where an agent's perception goes, in words.
func (p *participant) disclosed() string {
	switch {
	case p.Backend != "":
		return p.Backend
	case p.Egress:
		return "leaves the room"
	}
	return "stays in the room"
}

// declare makes an agent of somebody who came as a person and says now that it is none:
// it loses its rank and all but what agents have by default. Nothing takes that back
// while it is here.
func (r *room) declare(c *conn) error {
	p := c.p
	if r.policy.Agents.Mode == kibitz.AgentsNone {
		no := deny(kibitz.GateNoAgents, "no agents in this room")
		r.kick(p, no, "policy", false)
		return no
	}
	before, old := p.effective(time.Now()), p.presence
	p.Kind, p.Declared, p.Operator, p.HostKey, p.Override = kibitz.Agent, true, false, "", nil
	p.Allowed = kibitz.Intersect(kibitz.AgentGrant(), before)
	p.setBase()
	if err := r.rewrite(p, old, r.entry(audit.RoomDisclosed, p.ID, p, "an agent")); err != nil {
		return err
	}
	c.Declared = true
	c.link.seated(p.ID, p.Kind)
	r.rank()
	r.regranted(p, before)
	return nil
}

// guestName is whom the roster shows for somebody who took another's name.
const guestName = "Guest"

// nameFor is the name somebody wants, unless it is what another is known by here: then
// it is its own, or that of a guest.
func (r *room) nameFor(p *participant, wanted string) string {
	name := kibitz.CleanName(wanted)
	if strings.EqualFold(name, p.Label) || !r.labelOfAnother(p, name) {
		return name
	}
	if p.Label != "" {
		return kibitz.CleanName(p.Label)
	}
	return guestName
}

// labelOfAnother tells whether a name is the label of somebody else who is here, of an
// agent on the list, or of an invite.
func (r *room) labelOfAnother(p *participant, name string) bool {
	for _, q := range r.everybody() {
		if q.ID != p.ID && q.Label != "" && !q.same(p) && strings.EqualFold(kibitz.CleanName(q.Label), name) {
			return true
		}
	}
	for _, k := range r.policy.Agents.Keys {
		if k.Label != "" && p.Label != k.Label && strings.EqualFold(kibitz.CleanName(k.Label), name) {
			return true
		}
	}
	for _, in := range r.invites {
		if in.ID != p.Invite && in.good(time.Now()) && strings.EqualFold(in.Name, name) {
			return true
		}
	}
	return false
}

// same tells whether two presences are one identity, as of somebody with two windows.
func (p *participant) same(q *participant) bool {
	return p.KeyID != "" && p.KeyID == q.KeyID || p.Invite != "" && p.Invite == q.Invite ||
		p.Email != "" && p.Email == q.Email || p.PrincipalID != "" && p.PrincipalID == q.PrincipalID
}

// giveBackName takes the name of somebody who has just come with a proof from those who
// only said it.
func (r *room) giveBackName(p *participant) {
	if p.Label == "" {
		return
	}
	for _, q := range r.order {
		if q != p && !q.same(p) && strings.EqualFold(q.Name, kibitz.CleanName(p.Label)) {
			q.Name = r.nameFor(q, q.Name)
		}
	}
}

// sealed is how closed the room is to this hub.
func (r *room) sealed() kibitz.Sealed {
	switch {
	case !r.policy.Sealed:
		return kibitz.SealedNot
	case r.shared:
		return kibitz.SealedShared
	}
	return kibitz.SealedFast
}

// tellShared tells everybody that the hub can read a sealed room from now on, because an
// agent that comes in through it brings the key: before that agent is in.
func (r *room) tellShared(c *conn) error {
	if c.Hosted == nil || !c.Hosted.HasKey || r.sealed() != kibitz.SealedFast {
		return nil
	}
	r.shared = true
	if err := r.write(r.saveState, r.entry(audit.RoomShared, c.Hosted.Agent, nil, "the hub can read this room")); err != nil {
		r.shared = false
		return err
	}
	r.rosterOut = nil
	now := time.Now()
	for _, p := range r.order {
		if p.conn != nil {
			// It keeps its place: a newer roster, with the agent in it, does not replace it.
			p.conn.link.Send(&Out{Data: r.rosterFor(p, now).Data})
		}
	}
	return nil
}
