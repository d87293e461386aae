package room

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// signedCommand verifies a host's signed order beside the room and does it.
func (r *room) signedCommand(c *conn, m *kibitz.Mod) {
	now := time.Now()
	fps, key := c.fingerprints(r.id, now), r.policy.Host.Key
	r.beside(func(context.Context) func() {
		var cmd *kibitz.Command
		var err error
		for _, fp := range fps {
			if cmd, err = kibitz.VerifyCommand(m.Token, r.id, fp, key, now); err == nil || !notBound(err) {
				break
			}
		}
		return func() {
			if c.p == nil || r.conns[c.CID] != c {
				return
			}
			if err == nil {
				err = r.command(by{p: c.p, actor: c.p.ID, tier: kibitz.TierKey, signed: true}, HostCommand{Op: cmd.Op, Target: cmd.Target, Reason: m.Reason})
			} else {
				r.blocked(c.p, "mod", kibitz.HostDenied)
			}
			c.answer(m.N, err)
		}
	})
}

func notBound(err error) bool {
	return strings.HasSuffix(err.Error(), "not cert-bound to this connection")
}

// maxReason is how much of a host's reason is kept and shown, in bytes.
const maxReason = 200

// shorten makes a host's words fit for frames, the trail and a page.
func shorten(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "")
	}
	return s
}

// nameOps are what a host by name alone may do.
var nameOps = map[kibitz.Op]bool{
	kibitz.OpAdmit: true, kibitz.OpDeny: true, kibitz.OpLobbyOn: true, kibitz.OpLobbyOff: true,
	kibitz.OpLock: true, kibitz.OpUnlock: true, kibitz.OpReset: true, kibitz.OpKick: true,
}

// command does a host's order.
func (r *room) command(who by, cmd HostCommand) error {
	cmd.Reason = shorten(cmd.Reason)
	if err := r.entitled(who, cmd); err != nil {
		r.blocked(who.p, "mod", kibitz.HostDenied)
		return err
	}
	switch cmd.Op {
	case kibitz.OpClaim:
		return r.claim(who)
	case kibitz.OpLobbyOn, kibitz.OpLobbyOff:
		return r.setLobby(who, cmd.Op == kibitz.OpLobbyOn)
	case kibitz.OpLock, kibitz.OpUnlock:
		return r.setLock(who, cmd.Op == kibitz.OpLock)
	case kibitz.OpAdmit, kibitz.OpDeny:
		return r.decide(who, cmd)
	case kibitz.OpReset:
		return r.reset(who)
	case kibitz.OpKick:
		return r.kickOut(who, cmd)
	case kibitz.OpBan:
		return r.ban(who, cmd)
	case kibitz.OpUnban:
		return r.unban(who, cmd.Target)
	}
	return r.appoint(who, cmd.Target, cmd.Op == kibitz.OpPublisher)
}

// removes are the orders that put somebody out.
var removes = map[kibitz.Op]bool{kibitz.OpKick: true, kibitz.OpBan: true}

// outranked tells whether an order of a host that is none by the hub's word is against
// one that is: its owner's room is nobody else's to keep.
func (r *room) outranked(who by, target string) bool {
	if who.tier == kibitz.TierOperator {
		return false
	}
	for _, p := range r.everybody() {
		if p.Operator && (p.ID == target || slices.Contains(p.marks(), banMark(target))) {
			return true
		}
	}
	return false
}

func (r *room) entitled(who by, cmd HostCommand) error {
	no := deny(kibitz.HostDenied, "not entitled")
	switch {
	case !cmd.Op.Known():
		return deny(kibitz.HostDenied, "unknown op")
	case cmd.Op == kibitz.OpClaim && !who.signed:
		return deny(kibitz.HostDenied, "missing command")
	case who.p != nil && cmd.Target == who.p.ID:
		return deny(kibitz.HostDenied, "not on oneself")
	case who.p != nil && cmd.Target != "" && who.p.KeyID == cmd.Target && cmd.Op == kibitz.OpBan:
		return deny(kibitz.HostDenied, "not on oneself")
	case removes[cmd.Op] && r.outranked(who, cmd.Target):
		return deny(kibitz.HostDenied, "whoever the hub itself calls a host can only be removed by another")
	case who.tier.Full():
		return nil
	case who.tier != kibitz.TierName || !nameOps[cmd.Op]:
		return no
	case cmd.Op == kibitz.OpKick:
		if p := r.byID[cmd.Target]; p != nil && (p.Kind == kibitz.Agent || p.Proven || p.tier != "") {
			return no
		}
	}
	return nil
}

// claim makes the sender of a signed command a host.
func (r *room) claim(who by) error {
	p := who.p
	old := p.HostKey
	p.HostKey = thumbprint(r.policy.Host.Key)
	if err := r.write(func(tx *store.Tx) error { return r.save(tx, p) }, r.entry(audit.RoomHost, who.actor, p, string(kibitz.TierKey))); err != nil {
		p.HostKey = old
		return err
	}
	before := p.effective(time.Now())
	r.rank()
	r.regranted(p, before)
	return nil
}

func (r *room) setLobby(who by, on bool) error {
	old := r.lobby
	r.lobby = on
	detail := "off"
	if on {
		detail = "on"
	}
	if err := r.write(r.saveState, r.entry(audit.RoomLobby, who.actor, nil, detail)); err != nil {
		r.lobby = old
		return err
	}
	r.changed()
	if on {
		return nil
	}
	for _, c := range r.conns {
		if c.waiting {
			if err := r.admit(c, who.actor); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *room) setLock(who by, on bool) error {
	old := r.locked
	r.locked = on
	kind := audit.RoomUnlocked
	if on {
		kind = audit.RoomLocked
	}
	if err := r.write(r.saveState, r.entry(kind, who.actor, nil, "")); err != nil {
		r.locked = old
		return err
	}
	r.changed()
	return nil
}

func (r *room) decide(who by, cmd HostCommand) error {
	c := r.waiter(cmd.Target)
	switch {
	case c == nil:
		return deny(kibitz.ToUnknown, "nobody of that id is waiting")
	case cmd.Op == kibitz.OpAdmit:
		return r.admit(c, who.actor)
	}
	return r.denyEntry(c, who.actor, cmd.Reason)
}

// reset clears the chat: schemas, views and numbers stay.
func (r *room) reset(who by) error {
	if err := r.write(nil, r.entry(audit.RoomReset, who.actor, nil, "")); err != nil {
		return err
	}
	r.ring.empty(r.seq)
	out := encode(&kibitz.Reset{By: who.actor})
	for _, p := range r.order {
		if p.conn != nil {
			p.conn.link.Send(out)
		}
	}
	return nil
}

// appoint makes somebody a publisher, or no longer. The target is a participant
// or a key.
func (r *room) appoint(who by, target string, on bool) error {
	if target == "" || r.byID[target] == nil && len(target) < 20 {
		return deny(kibitz.ToUnknown, "no such participant")
	}
	was := r.appointed[target]
	detail := "appointed"
	if on {
		r.appointed[target] = true
	} else {
		delete(r.appointed, target)
		detail = "dismissed"
	}
	n := note{kind: audit.RoomPublisher, actor: who.actor, id: target, detail: detail}
	if err := r.write(r.saveState, n.entry(r.id)); err != nil {
		r.appointed[target] = was
		return err
	}
	r.changed()
	return nil
}

// kickOut removes somebody and bars everything it is known by.
func (r *room) kickOut(who by, cmd HostCommand) error {
	p := r.byID[cmd.Target]
	if p == nil {
		p = r.departed[cmd.Target]
	}
	if p == nil {
		if c := r.waiter(cmd.Target); c != nil {
			return r.denyEntry(c, who.actor, cmd.Reason)
		}
		return deny(kibitz.ToUnknown, "no such participant")
	}
	marks := append(p.marks(), "resume:"+p.resume)
	if p.Guest != "" {
		marks = append(marks, "guest:"+p.Guest)
	}
	reason := cmd.Reason
	if reason == "" {
		reason = errKicked.Reason
	}
	if err := r.bar(who, marks, cmd.Reason, r.entry(audit.RoomKicked, who.actor, p, cmd.Reason)); err != nil {
		return err
	}
	r.kick(p, deny(kibitz.Kicked, reason), who.actor, true)
	return nil
}
