package room

import (
	"context"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/protocol/kibitz"
)

// mostRefusals at the door end a connection.
const mostRefusals = 5

// announce is voice or knock of somebody who is not in: the checks that need no
// proof, then the gate beside the room, then enter.
func (r *room) announce(c *conn, n int64, a *kibitz.Announce, announced bool) {
	if c.busy {
		if n > 0 {
			c.nak(n, deny(kibitz.GateBusy, "still looking at the last announce"))
		}
		return
	}
	if c.waiting {
		r.knockAgain(c, a, announced)
		return
	}
	if err := r.door(c, a); err != nil {
		r.refuse(c, err, nil)
		return
	}
	// A key is proven anew each time; everybody else is still who it was.
	if c.cleared && c.passed != nil && c.passed.KeyID == "" && kindOf(c.arrival, a) == c.passed.kind && !fresh(a) {
		adm := *c.passed
		adm.announce, adm.announced = a, announced
		r.enter(c, &adm)
		return
	}
	r.verify(c, a, announced)
}

// fresh tells whether an announce brings proofs of its own.
func fresh(a *kibitz.Announce) bool {
	return a.AgentAssertion != "" || a.AgentToken != "" || len(a.AgentChain) > 0 || a.JWT != "" || a.AgentCredit != ""
}

// door is what can be said without looking at a proof, in the protocol's order.
func (r *room) door(c *conn, a *kibitz.Announce) error {
	now := time.Now()
	host := r.hostRight(c.arrival) != "" && kindOf(c.arrival, a) == kibitz.Human
	switch {
	case r.barred(c.arrival.marks(a)...) && !(host && r.cannotBeBarred(c.arrival)):
		return errKicked
	case r.policy.Expired(seconds(now)):
		return deny(kibitz.GatePolicyExpired, "the room's policy has expired")
	case len(r.order) >= r.policy.Max:
		return deny(kibitz.RoomFull, "the room is full")
	case kindOf(c.arrival, a) == kibitz.Agent && r.agents() >= maxAgents:
		return deny(kibitz.RoomFull, "the room has as many agents as it can take")
	case r.locked && !host && !c.withdrawn && !r.isKnown(c.arrival.marks(a)...):
		return deny(kibitz.RoomLocked, "the room is locked")
	}
	if err := a.CheckProofs(); err != nil {
		return err
	}
	return a.CheckFields()
}

// maxAgents is the most agents of one room.
const maxAgents = 1000

// marks are what bans can know before any proof: the principal and a guest's
// own secret.
func (a arrival) marks(said *kibitz.Announce) []string {
	var out []string
	if a.Principal != "" && a.Hosted == nil {
		out = append(out, a.Principal)
	}
	if g := guestHash(said.Token); g != "" {
		out = append(out, "guest:"+g)
	}
	return out
}

func (r *room) agents() (n int) {
	for _, p := range r.order {
		if p.Kind == kibitz.Agent {
			n++
		}
	}
	return n
}

func (r *room) barred(marks ...string) bool {
	for _, m := range marks {
		if _, ok := r.bans[m]; ok {
			return true
		}
	}
	return false
}

func (r *room) isKnown(marks ...string) bool {
	for _, m := range marks {
		if r.known[m] {
			return true
		}
	}
	return false
}

// verify runs the gate beside the room and comes back with its word.
func (r *room) verify(c *conn, a *kibitz.Announce, announced bool) {
	c.busy = true
	g := r.gate(c, a)
	version := r.version
	r.beside(func(ctx context.Context) func() {
		adm, err := g.judge(ctx)
		if err != nil && ctx.Err() != nil {
			err = deny(kibitz.GateUnavailable, "the proof could not be looked at in time")
		}
		return func() { r.verified(c, adm, err, version, announced) }
	})
}

func (r *room) gate(c *conn, a *kibitz.Announce) *gate {
	now := time.Now()
	return &gate{
		room: r.id, host: r.hostRight(c.arrival), ours: r.rightOf(c.PrincipalID, c.Owner, c.Admin) != "", key: r.key.Public(), policy: r.policy, from: c.arrival, fps: c.fingerprints(r.id, now),
		keys: r.e.keys, now: now, said: a,
	}
}

// beside runs work on a goroutine of its own; what it returns runs on the room's.
func (r *room) beside(work func(ctx context.Context) func()) {
	r.e.work.Go(func() {
		ctx, cancel := context.WithTimeout(r.e.ctx, r.e.d.Limits.Verify)
		defer cancel()
		r.post(work(ctx))
	})
}

// verified takes the gate's word. Much may have changed meanwhile.
func (r *room) verified(c *conn, adm *admission, err error, version int64, announced bool) {
	c.busy = false
	if r.conns[c.CID] != c {
		return // gone, without a trace
	}
	if version != r.version {
		r.announce(c, 0, adm.announce, announced)
		return
	}
	if err != nil {
		r.refuse(c, err, adm)
		return
	}
	adm.announced = announced
	r.enter(c, adm)
}

// refuse says no at the door; the fifth time is the last.
func (r *room) refuse(c *conn, err error, adm *admission) {
	no := refusalOf(err)
	c.send(&kibitz.Lobby{Status: no.Code.DoorStatus(), Code: no.Code, Reason: no.Reason})
	who := note{kind: audit.RoomRefused, actor: c.actor(), detail: no.Reason, code: no.Code}
	if adm != nil {
		who.keyID = adm.KeyID
	}
	r.note(who)
	c.refusals++
	if c.refusals >= mostRefusals {
		c.link.Close(kibitz.CloseRefused, "refused five times")
		r.drop(c)
		return
	}
	c.deadline = time.Now().Add(r.doorTime())
	r.need(c.deadline)
}

// actor names a connection that is nobody yet.
func (c *conn) actor() string {
	switch {
	case c.p != nil:
		return c.p.ID
	case c.Hosted != nil:
		return c.Hosted.Agent
	case c.Principal != "":
		return c.Principal
	}
	return "hub"
}

// enter passes somebody who proved enough: into the lobby or into the room.
func (r *room) enter(c *conn, adm *admission) {
	err := r.door(c, adm.announce)
	switch {
	case err != nil:
	case r.barred(adm.marks()...) && !r.cannotBeBarred(c.arrival):
		err = errKicked
	case adm.Invite != "" && r.invites[adm.Invite].Withdrawn:
		err = errWithdrawn
	}
	if err != nil {
		r.refuse(c, err, adm)
		return
	}
	c.passed = adm
	if !c.cleared && r.mustWait(adm) {
		r.wait(c, adm)
		return
	}
	c.cleared = true
	if !adm.announced {
		c.send(&kibitz.Lobby{Status: kibitz.LobbyAdmitted})
		return
	}
	r.join(c, adm)
}

// mustWait tells whether the lobby is for this one.
func (r *room) mustWait(adm *admission) bool {
	switch {
	case !r.lobby || adm.operator || r.isKnown(adm.marks()...):
		return false
	case adm.Email != "" && kibitz.SameEmail(adm.Email, r.policy.Host.Email):
		return false
	case adm.kind == kibitz.Agent && adm.Anchor.standing():
		return r.policy.Lobby.Agents
	}
	return true
}

// wait puts somebody into the lobby.
func (r *room) wait(c *conn, adm *admission) {
	c.waiting = true
	if c.waitID == "" {
		c.waitID = shortID("p")
	}
	c.deadline = time.Now().Add(r.e.d.Limits.Lobby)
	r.need(c.deadline)
	c.send(&kibitz.Lobby{Status: kibitz.LobbyWaiting})
	r.note(note{kind: audit.RoomLobby, actor: c.actor(), id: c.waitID, keyID: adm.KeyID, detail: "waiting"})
	r.changed()
}

// knockAgain renames somebody who waits, and remembers that it has announced.
func (r *room) knockAgain(c *conn, a *kibitz.Announce, announced bool) {
	if err := a.CheckFields(); err != nil {
		r.refuse(c, err, nil)
		return
	}
	adm := *c.passed
	adm.announce, adm.announced = a, announced || adm.announced
	c.passed = &adm
	c.send(&kibitz.Lobby{Status: kibitz.LobbyWaiting})
	r.changed()
}

// waiter finds somebody in the lobby.
func (r *room) waiter(id string) *conn {
	for _, c := range r.conns {
		if c.waiting && c.waitID == id {
			return c
		}
	}
	return nil
}

// admit lets somebody in from the lobby.
func (r *room) admit(c *conn, actor string) error {
	if r.barred(c.passed.marks()...) {
		c.waiting = false
		r.changed()
		r.refuse(c, errKicked, c.passed)
		return errKicked
	}
	if err := r.writeLobby(c, actor, "admitted"); err != nil {
		return err
	}
	c.waiting, c.cleared = false, true
	c.deadline = time.Now().Add(r.e.d.Limits.Announce)
	r.need(c.deadline)
	r.changed()
	if c.passed.announced {
		r.join(c, c.passed)
		return nil
	}
	c.send(&kibitz.Lobby{Status: kibitz.LobbyAdmitted})
	return nil
}

func (r *room) denyEntry(c *conn, actor, reason string) error {
	if err := r.writeLobby(c, actor, "denied"); err != nil {
		return err
	}
	c.waiting = false
	if reason == "" {
		reason = "a host said no"
	}
	r.changed()
	c.send(&kibitz.Lobby{Status: kibitz.LobbyDenied, Code: kibitz.LobbyDeny, Reason: reason})
	c.refusals++
	c.deadline = time.Now().Add(r.e.d.Limits.Announce)
	r.need(c.deadline)
	return nil
}

func (r *room) writeLobby(c *conn, actor, detail string) error {
	return r.write(nil, note{kind: audit.RoomLobby, actor: actor, id: c.waitID, keyID: c.passed.KeyID, detail: detail}.entry(r.id))
}
