package room

import (
	"crypto/rand"
	"encoding/base64"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/room/ice"
	"parley.internal/protocol/kibitz"
)

// arrival is what a hub tells a room about a new connection.
type arrival struct {
	CID     string `json:"cid"`
	Nonce   string `json:"nonce"`
	Origin  string `json:"origin"`
	Address string `json:"address,omitempty"`
	// Principal is somebody this hub knows; Person says that it is a person, Owner that
	// it is the hub's owner, and Admin that it may reach other people's things.
	Principal   string  `json:"principal,omitempty"`
	PrincipalID string  `json:"principal_id,omitempty"`
	Person      bool    `json:"person,omitempty"`
	Owner       bool    `json:"owner,omitempty"`
	Admin       bool    `json:"admin,omitempty"`
	Hosted      *Hosted `json:"hosted,omitempty"`
	// Declared: somebody on this connection has said that it is an agent.
	Declared bool `json:"declared,omitempty"`
	// Participant and Seen are set when a connection changes the hub that answers
	// for it: who it is, and the last number it has seen.
	Participant string `json:"participant,omitempty"`
	Seen        uint64 `json:"seen,omitempty"`
}

// conn is a connection as its room sees it.
type conn struct {
	arrival
	link roomLink
	hub  string // of the socket; empty: this one
	p    *participant

	deadline time.Time // to be somebody
	refusals int
	// busy: its proofs are being looked at. waiting: in the lobby. cleared: a host
	// has let it in, or there was no need to. withdrawn: it was in and left the
	// roster.
	busy, waiting, cleared, withdrawn bool
	passed                            *admission
	waitID                            string

	// older is the nonce before the last challenge, good until olderUntil.
	older      string
	olderUntil time.Time
	challenge  time.Time // when to ask for a new proof
	proveBy    time.Time // when it must have come
	newICE     time.Time // when to send new credentials for links
}

// sink is the shortest way to the client. What a connection of this hub has seen
// is what the room has sent, so nobody need count on the way.
func (c *conn) sink() sink {
	if v, ok := c.link.(*connection); ok {
		return v.link
	}
	return c.link
}

func (c *conn) send(f kibitz.Frame) { c.link.Send(encode(f)) }

func (c *conn) ack(n int64) {
	if n > 0 {
		c.send(&kibitz.Ack{N: n})
	}
}

// nak answers a refused frame; without n the sender is told all the same.
func (c *conn) nak(n int64, err error) {
	r := refusalOf(err)
	c.send(&kibitz.Nak{N: n, Code: r.Code, Reason: r.Reason})
}

// answer is ack or nak.
func (c *conn) answer(n int64, err error) {
	if err != nil {
		c.nak(n, err)
		return
	}
	c.ack(n)
}

// fingerprints are what proofs on this connection may be bound to, newest first.
func (c *conn) fingerprints(room string, now time.Time) []string {
	out := []string{kibitz.ChannelFingerprint(c.Origin, room, c.Nonce)}
	if c.older != "" && now.Before(c.olderUntil) {
		out = append(out, kibitz.ChannelFingerprint(c.Origin, room, c.older))
	}
	return out
}

// secret is 256 random bits.
func secret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// shortID names connections and participants: it tells nothing and is never
// given out twice.
func shortID(prefix string) string {
	b := make([]byte, 9)
	_, _ = rand.Read(b)
	return prefix + base64.RawURLEncoding.EncodeToString(b)
}

// arrive takes a new connection and greets it.
func (r *room) arrive(c *conn) {
	r.conns[c.CID] = c
	c.deadline = time.Now().Add(r.doorTime())
	r.need(c.deadline)
	p, mesh := r.policy, r.policy.Peers()
	c.send(&kibitz.Hello{
		V: 1, Room: r.id, CID: c.CID, Nonce: c.Nonce, Title: r.title, Notice: p.Notice, Humans: p.Humans.Mode, Agents: p.Agents.Mode,
		Credits: p.Credits.Require, Sealed: r.sealed(), Locked: r.locked, Lobby: r.lobby, Mesh: &mesh, ICE: r.openICE(), SignIn: r.signIn(), Limits: kibitz.WireLimits(),
	})
}

// depart is a connection that is no more.
func (r *room) depart(cid string) {
	c := r.conns[cid]
	if c == nil {
		return
	}
	r.drop(c)
	p := c.p
	if p == nil {
		return
	}
	p.unseat()
	p.media = kibitz.Lanes{}
	r.need(p.broke.Add(r.e.d.Limits.Away))
	r.changed()
}

// drop forgets a connection.
func (r *room) drop(c *conn) {
	delete(r.conns, c.CID)
	if c.waiting {
		c.waiting = false
		r.changed()
	}
	r.dueIdle(time.Now())
}

// dueConn ends a connection that took too long and asks for fresh proofs.
func (r *room) dueConn(c *conn, now time.Time) {
	r.dueICE(c, now)
	switch {
	case c.p == nil && !c.busy:
		if !now.Before(c.deadline) {
			c.link.Close(kibitz.CloseSlow, "not announced in time")
			r.drop(c)
			return
		}
		r.need(c.deadline)
	case c.p != nil && !c.proveBy.IsZero():
		if !now.Before(c.proveBy) {
			r.kick(c.p, deny(kibitz.GateStale, "stale assertion"), "hub", false)
			return
		}
		r.need(c.proveBy)
	case c.p != nil && !c.challenge.IsZero():
		if !now.Before(c.challenge) {
			r.askProof(c, now)
		} else {
			r.need(c.challenge)
		}
	}
}

// signIn is where people prove who they are, if the room asks for that.
func (r *room) signIn() *kibitz.SignIn {
	o := r.policy.Humans.OIDC
	if r.policy.Humans.Mode != kibitz.HumansOIDC || o.AuthURI == "" {
		return nil
	}
	return &kibitz.SignIn{AuthURI: o.AuthURI, ClientID: o.ClientID}
}

// doorTime is how long somebody may take to say who they are. Whoever signs in elsewhere
// meanwhile needs this very connection: the token names it.
func (r *room) doorTime() time.Duration {
	if r.signIn() != nil {
		return r.e.d.Limits.Lobby
	}
	return r.e.d.Limits.Announce
}

// openICE is what somebody at the door may know of ways through NAT.
func (r *room) openICE() []kibitz.ICEServer {
	if p := r.policy.Peers(); !p.Media && !p.Data {
		return nil
	}
	return r.e.d.ICE.Open()
}

// iceFor is what a participant may use, with credentials that are renewed at half their time.
func (r *room) iceFor(c *conn, now time.Time) []kibitz.ICEServer {
	if p := r.policy.Peers(); !p.Media && !p.Data {
		return nil
	}
	servers := r.e.d.ICE.For(c.p.ID, now)
	c.newICE = time.Time{}
	if len(servers) > 0 {
		c.newICE = now.Add(ice.Lifetime / 2)
		r.need(c.newICE)
	}
	return servers
}

// dueICE sends a participant new credentials before the last ones end.
func (r *room) dueICE(c *conn, now time.Time) {
	switch {
	case c.p == nil || c.newICE.IsZero():
	case now.Before(c.newICE):
		r.need(c.newICE)
	default:
		c.send(&kibitz.ICE{ICE: r.iceFor(c, now)})
	}
}

// askProof sends a challenge.
func (r *room) askProof(c *conn, now time.Time) {
	c.older, c.olderUntil = c.Nonce, now.Add(r.e.d.Limits.Prove)
	c.Nonce, c.proveBy = secret(), now.Add(r.e.d.Limits.Prove)
	c.send(&kibitz.Challenge{Nonce: c.Nonce})
	r.need(c.proveBy)
}

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
