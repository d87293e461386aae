package room

import (
	"context"
	"slices"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// resume takes up an earlier presence on a new connection.
func (r *room) resume(c *conn, f *kibitz.Resume) {
	switch {
	case c.p != nil:
		c.nak(f.N, deny(kibitz.ResumeUnknown, "already in the room"))
		return
	case c.busy:
		if f.N > 0 {
			c.nak(f.N, deny(kibitz.GateBusy, "still looking at the last announce"))
		}
		return
	}
	p, err := r.resumable(f)
	if err != nil {
		r.refuse(c, err, nil)
		return
	}
	a := &kibitz.Announce{AgentAssertion: f.AgentAssertion, AgentCredit: f.AgentCredit}
	if err := a.CheckProofs(); err != nil {
		r.refuse(c, err, nil)
		return
	}
	hash := p.resume
	c.busy = true
	g := r.gate(c, a)
	credits := r.policy.Credits
	r.beside(func(ctx context.Context) func() {
		var credit *kibitz.Credit
		var err error
		if p.KeyID != "" && p.Kind == kibitz.Agent {
			_, err = g.proof([]kibitz.AllowedKey{{Key: p.Key}})
		}
		if err == nil && f.AgentCredit != "" && credits.Require && p.Kind == kibitz.Agent {
			credit, err = r.e.keys.Credit(ctx, f.AgentCredit, credits, r.id)
		}
		return func() {
			c.busy = false
			if r.conns[c.CID] != c {
				return
			}
			if err == nil && r.byResume[hash] != p {
				err = errNoResume // used, or ended, meanwhile
			}
			if err == nil {
				err = r.takeUp(c, p, credit, f.Since)
			}
			if err != nil {
				r.refuse(c, err, &admission{credentials: p.credentials})
			}
		}
	})
}

var errNoResume = deny(kibitz.ResumeUnknown, "nothing to resume")

// resumable finds the presence of a secret and asks whether it may go on.
func (r *room) resumable(f *kibitz.Resume) (*participant, error) {
	hash := hashOf(f.Resume)
	if r.barred("resume:" + hash) {
		return nil, errKicked
	}
	p := r.byResume[hash]
	if p == nil || p.conn == nil && time.Since(p.broke) >= r.e.d.Limits.Resume {
		return nil, errNoResume
	}
	if r.barred(p.marks()...) {
		return nil, errKicked
	}
	if !p.CreditExp.IsZero() && r.policy.Credits.Require && f.AgentCredit == "" && !time.Now().Before(p.CreditExp.Add(kibitz.CreditReapLeeway)) {
		return nil, deny(kibitz.CreditLapsed, "the credit has lapsed")
	}
	return p, nil
}

// takeUp is the resume itself: the secret is used up, the presence is the same.
func (r *room) takeUp(c *conn, p *participant, credit *kibitz.Credit, since uint64) error {
	token := secret()
	old, wasLeft, wasOperator := p.resume, p.left, p.Operator
	p.resume, p.left = hashOf(token), false
	// Rank by the hub's word is that of the connection, not of the secret.
	p.Operator = p.Operator && c.PrincipalID == p.PrincipalID && r.hostRight(c.arrival) != ""
	p.Admin, p.HubOwner = c.Admin, c.Owner
	if credit != nil {
		p.CreditSub, p.CreditExp = credit.Sub, credit.Exp
	}
	err := r.write(func(tx *store.Tx) error {
		if p.CreditSub != "" {
			if err := claimCredit(tx, p.CreditSub, r.id, p.ID, p.CreditExp, time.Now()); err != nil {
				return err
			}
		}
		return r.save(tx, p)
	}, r.entry(audit.RoomJoined, p.ID, p, "resumed"))
	if err != nil {
		p.resume, p.left, p.Operator = old, wasLeft, wasOperator
		return err
	}
	delete(r.byResume, old)
	r.byResume[p.resume] = p
	if wasLeft {
		delete(r.departed, p.ID)
		r.order, r.byID[p.ID] = append(r.order, p), p
	}
	if before := p.conn; before != nil {
		before.p = nil
		r.drop(before)
		before.link.Close(kibitz.CloseReplaced, "resumed elsewhere")
	}
	r.rank()
	p.refreshGrant()
	r.seat(c, p)
	r.changed()
	r.capsDirty, r.capsOut = true, nil
	r.welcome(c, p, token)
	r.replay(c, p, since)
	return nil
}

// replay sends what a participant has missed and may see now.
func (r *room) replay(c *conn, p *participant, since uint64) {
	if since < r.ring.floor {
		c.send(&kibitz.Gap{From: since + 1, To: r.ring.floor})
	}
	items := slices.Clone(r.ring.after(since))
	for _, it := range r.kept.forJoiner(p.ID) {
		if it.seq > since && it.seq <= r.ring.floor {
			items = append(items, it)
		}
	}
	slices.SortFunc(items, bySeq)
	now := seconds(time.Now())
	for _, it := range items {
		if !r.perceives(p, it, now) {
			continue
		}
		if it.seq <= r.ring.floor {
			c.link.Send(it.retained())
		} else {
			c.link.Send(it.out())
		}
	}
	c.send(&kibitz.Live{Seq: r.seq})
	if p.restored && p.Published {
		c.send(&kibitz.Republish{})
	}
	p.restored = false
}
