package room

import (
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// by is who does something to the room: a participant, or a principal through
// the API.
type by struct {
	p      *participant // nil for a principal
	actor  string
	tier   kibitz.Tier
	signed bool
}

func (r *room) byWho(w identity.Actor) by { return by{actor: w.String(), tier: kibitz.TierOperator} }

// byParticipant is somebody in the room. Whoever was made a host may be none any more.
func (r *room) byParticipant(p *participant) by {
	if p.Operator && r.rightOf(p.PrincipalID, p.HubOwner, p.Admin) == "" {
		r.rehost()
	}
	return by{p: p, actor: p.ID, tier: p.tier}
}

// setGrant changes a grant: written, sent out as caps, then answered.
func (r *room) setGrant(who by, id string, g *kibitz.Grant) (GrantState, error) {
	p := r.byID[id]
	switch {
	case !who.tier.Full():
		r.blocked(who.p, "grant", kibitz.GrantDenied)
		return GrantState{}, deny(kibitz.GrantDenied, "only hosts change grants")
	case who.p != nil && who.p.ID == id:
		return GrantState{}, deny(kibitz.GrantSelf, "nobody changes its own grant")
	case p == nil:
		return GrantState{}, deny(kibitz.ToUnknown, "no such participant")
	case p.Kind == kibitz.Human && p.tier.Full():
		return GrantState{}, deny(kibitz.GrantHost, "a host's grant cannot be changed")
	}
	before, old := p.effective(time.Now()), p.Override
	detail := "cleared"
	p.Override = g
	p.refreshGrant()
	if g != nil {
		detail = p.grant().String()
	}
	err := r.write(func(tx *store.Tx) error { return r.save(tx, p) }, r.entry(audit.RoomGranted, who.actor, p, detail))
	if err != nil {
		p.Override = old
		p.refreshGrant()
		return GrantState{}, err
	}
	return r.regranted(p, before), nil
}

// regranted tells everybody that a grant has changed and sends what it reveals.
func (r *room) regranted(p *participant, before kibitz.Grant) GrantState {
	now := time.Now()
	if p.expires > 0 {
		r.need(timeOf(p.expires))
	}
	r.rosterOut = nil
	r.allCaps(now)
	after := p.effective(now)
	r.reveal(p, before, after, now)
	r.changed()
	return GrantState{Rev: r.rev, Grant: after}
}

// reveal sends what a widened right lets somebody see: the roster, and retained
// schemas and views that were withheld.
func (r *room) reveal(p *participant, before, after kibitz.Grant, now time.Time) {
	if p.conn == nil {
		return
	}
	gained := map[kibitz.Capability]bool{}
	for _, c := range after.Gained(before) {
		gained[c] = true
	}
	if before.Has(kibitz.ReadRoster) != after.Has(kibitz.ReadRoster) {
		r.sendRoster(p, now)
	}
	for _, it := range r.kept.forJoiner(p.ID) {
		right := kibitz.ReadChat
		if it.to != "" {
			right = kibitz.ReceiveDirected
		}
		if gained[right] && r.perceives(p, it, seconds(now)) {
			p.conn.link.Send(it.retained())
		}
	}
	if (!after.Has(kibitz.Speak)) && p.media.Any() {
		p.media = kibitz.Lanes{}
	}
}

// dueParticipant does what time asks for about somebody in the roster.
func (r *room) dueParticipant(p *participant, now time.Time) {
	if p.expires > 0 && !p.expired {
		if seconds(now) >= p.expires {
			p.expired = true
			r.note(note{kind: audit.RoomExpired, actor: "hub", id: p.ID, keyID: p.KeyID, detail: "nothing"})
			p.media = kibitz.Lanes{}
			r.allCaps(now)
			r.changed()
		} else {
			r.need(timeOf(p.expires))
		}
	}
	r.dueCounts(p, now)
	if !p.CreditExp.IsZero() && r.policy.Credits.Require {
		at := p.CreditExp.Add(kibitz.CreditReapLeeway)
		if !now.Before(at) {
			r.reap(p)
			return
		}
		r.need(at)
	}
	if p.conn == nil {
		at := p.broke.Add(r.e.d.Limits.Away)
		if !now.Before(at) {
			r.leave(p, true)
			return
		}
		r.need(at)
	}
}

func (r *room) reap(p *participant) {
	r.note(note{kind: audit.RoomReaped, actor: "hub", id: p.ID, keyID: p.KeyID, detail: "credit lapsed", code: kibitz.CreditLapsed})
	r.kick(p, deny(kibitz.CreditLapsed, "the credit has lapsed"), "hub", false)
}

// dueDeparted forgets somebody who can no longer come back.
func (r *room) dueDeparted(p *participant, now time.Time) {
	at := p.broke.Add(r.e.d.Limits.Resume)
	if now.Before(at) {
		r.need(at)
		return
	}
	r.forget(p)
}

// forget ends a presence for good.
func (r *room) forget(p *participant) {
	delete(r.departed, p.ID)
	delete(r.byResume, p.resume)
	r.kept.forget(p.ID)
	_ = r.write(func(tx *store.Tx) error { return r.erase(tx, p.ID) }) // it expires by itself when loaded
}

// leave takes somebody out of the roster. Whoever only lost its connection may
// still come back.
func (r *room) leave(p *participant, resumable bool) {
	r.unlist(p)
	p.left = true
	if !resumable {
		r.forget(p)
	} else {
		r.departed[p.ID] = p
		r.need(p.broke.Add(r.e.d.Limits.Resume))
		_ = r.write(func(tx *store.Tx) error {
			if _, err := tx.Exec(`DELETE FROM room_credits WHERE room = ? AND participant = ?`, r.id, p.ID); err != nil {
				return err
			}
			return r.save(tx, p)
		})
	}
	r.note(note{kind: audit.RoomLeft, actor: p.ID, id: p.ID, keyID: p.KeyID, detail: string(p.Kind)})
}

// unlist removes somebody from the roster.
func (r *room) unlist(p *participant) {
	r.dueCounts(p, time.Time{})
	for i, q := range r.order {
		if q == p {
			r.order = append(r.order[:i:i], r.order[i+1:]...)
			break
		}
	}
	delete(r.byID, p.ID)
	r.e.d.ICE.Gone(p.ID)
	r.rank()
	r.changed()
	r.capsDirty = true
	r.dueIdle(time.Now())
}

// kick ends a presence at once, tells it why and closes its connection.
func (r *room) kick(p *participant, why *kibitz.Refusal, actor string, audited bool) {
	c := p.conn
	if p.left {
		r.forget(p)
	} else {
		p.unseat()
		r.unlist(p)
		p.left = true
		r.forget(p)
	}
	if !audited {
		r.note(note{kind: audit.RoomKicked, actor: actor, id: p.ID, keyID: p.KeyID, detail: why.Reason, code: why.Code})
	}
	if c == nil {
		return
	}
	c.p = nil
	r.drop(c)
	c.send(&kibitz.Kick{Code: why.Code, Reason: why.Reason})
	code := kibitz.CloseKicked
	if why.Code == kibitz.RoomClosed {
		code = kibitz.CloseRoomClosed
	}
	c.link.Close(code, string(why.Code))
}
