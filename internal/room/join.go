package room

import (
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// join makes a participant of a connection: it is on disk before anybody is told.
func (r *room) join(c *conn, adm *admission) {
	if err := r.tellShared(c); err != nil {
		r.refuse(c, err, adm)
		return
	}
	p := r.newParticipant(c, adm)
	token := secret()
	p.resume = hashOf(token)
	marks := p.marks()
	now := time.Now()
	entries := []audit.Entry{r.entry(audit.RoomAdmitted, letIn(p), p, admittedBy(p)), r.entry(audit.RoomJoined, p.ID, p, string(p.Kind))}
	if p.Operator && r.rightOf(p.PrincipalID, p.HubOwner, p.Admin) == asAdmin {
		entries = append(entries, r.entry(audit.RoomHost, p.Principal, p, "as admin"))
	}
	if adm.credit != nil {
		entries = append(entries, r.entry(audit.RoomCredit, p.ID, p, "accepted"))
	}
	err := r.write(func(tx *store.Tx) error {
		if adm.credit != nil {
			if err := claimCredit(tx, adm.credit.Sub, r.id, p.ID, adm.credit.Exp, now); err != nil {
				return err
			}
		}
		if err := r.know(tx, marks); err != nil {
			return err
		}
		return r.save(tx, p)
	}, entries...)
	if err != nil {
		r.refuse(c, err, adm)
		return
	}
	for _, m := range marks {
		r.known[m] = true
	}
	r.order, r.byID[p.ID], r.byResume[p.resume] = append(r.order, p), p, p
	r.giveBackName(p)
	r.rank()
	r.seat(c, p)
	r.changed()
	r.capsDirty, r.capsOut = true, nil
	r.welcome(c, p, token)
	r.retainedFor(c, p, 0, time.Now())
	c.send(&kibitz.Live{Seq: r.seq})
}

// admittedBy is how the trail tells why somebody was let in.
func admittedBy(p *participant) string {
	if p.Anchor.Kind == anchorNone {
		return "open"
	}
	return p.Anchor.Kind
}

// letIn is who let somebody in: the hub's own word, the policy, or an open door.
func letIn(p *participant) string {
	switch p.Anchor.Kind {
	case anchorHub, anchorHosted:
		return p.Principal
	case anchorNone:
		return "hub"
	}
	return "policy"
}

// newParticipant makes the presence an admission stands for.
func (r *room) newParticipant(c *conn, adm *admission) *participant {
	a := adm.announce
	p := &participant{presence: presence{ID: c.waitID, Kind: adm.kind, credentials: adm.credentials, Joined: time.Now(), Operator: adm.operator, Admin: c.Admin, HubOwner: c.Owner}}
	if p.ID == "" {
		p.ID = shortID("p")
	}
	c.waitID = ""
	p.Name = r.nameFor(p, adm.shownName())
	p.Backend, p.Egress = adm.backend, adm.egress
	r.describe(p, a)
	if kibitz.ValidFingerprint(kibitz.NormalFingerprint(a.FP)) {
		p.FP = kibitz.NormalFingerprint(a.FP)
	}
	if len(a.Want) > 0 {
		want := kibitz.Sanitise(a.Want)
		p.Want = &want
	}
	p.setBase()
	if adm.credit != nil {
		p.CreditSub, p.CreditExp = adm.credit.Sub, adm.credit.Exp
	}
	return p
}

// setBase is the grant of the admission: what is allowed, or the part of it that
// was asked for.
func (p *participant) setBase() {
	p.Base = p.Allowed
	if p.Want != nil {
		p.Base = kibitz.Intersect(*p.Want, p.Allowed)
	}
	p.refreshGrant()
}

// seat ties a connection to a participant.
func (r *room) seat(c *conn, p *participant) {
	c.p, c.waiting, c.busy = p, false, false
	p.conn, p.out, p.broke, p.left = c, c.sink(), time.Time{}, false
	c.link.seated(p.ID, p.Kind)
	c.challenge, c.proveBy = time.Time{}, time.Time{}
	if p.KeyID != "" && p.Kind == kibitz.Agent {
		c.challenge = time.Now().Add(r.e.d.Limits.Challenge)
		r.need(c.challenge)
	}
	if p.expires > 0 {
		r.need(timeOf(p.expires))
	}
	if !p.CreditExp.IsZero() {
		r.need(p.CreditExp.Add(kibitz.CreditReapLeeway))
	}
}

// welcome is the start of both join and resume.
func (r *room) welcome(c *conn, p *participant, token string) {
	now := time.Now()
	c.send(&kibitz.Lobby{Status: kibitz.LobbyAdmitted})
	c.send(&kibitz.Self{
		ID: p.ID, Kind: p.Kind, Name: p.Name, Host: p.tier != "", Tier: p.tier, KeyID: p.KeyID,
		Grant: p.effective(now), Resume: token, Seq: r.seq, ICE: r.iceFor(c, now),
	})
	// Newer ones replace older ones that wait; these two keep their place.
	c.link.Send(&Out{Data: r.rosterFor(p, now).Data})
	c.link.Send(&Out{Data: r.capsFor(p, now).Data})
}

// retainedFor sends what is kept for somebody: schemas, then views, by number.
func (r *room) retainedFor(c *conn, p *participant, since uint64, now time.Time) {
	at := seconds(now)
	for _, it := range r.kept.forJoiner(p.ID) {
		if it.seq > since && r.perceives(p, it, at) {
			c.link.Send(it.retained())
		}
	}
}

// perceives tells whether a message may reach somebody now.
func (r *room) perceives(p *participant, it *item, now float64) bool {
	switch {
	case it.from == p.ID:
		return false
	case it.to == "":
		return p.may(bitReadChat, now)
	}
	return it.to == p.ID && p.may(bitDirected, now)
}
