package room

import (
	"time"

	"parley.internal/protocol/kibitz"
)

// presence is what the store keeps of a participant, so that it can be taken up
// again after a crash or on another hub.
type presence struct {
	ID     string      `json:"id"`
	Kind   kibitz.Kind `json:"kind"`
	Name   string      `json:"name"`
	Cam    bool        `json:"cam,omitempty"`
	Avatar string      `json:"avatar,omitempty"`
	Meta   kibitz.Raw  `json:"meta,omitempty"`
	FP     string      `json:"fp,omitempty"`

	credentials
	// Base is the grant of the admission, Want what was asked for.
	Base     kibitz.Grant  `json:"base"`
	Want     *kibitz.Grant `json:"want,omitempty"`
	Override *kibitz.Grant `json:"override,omitempty"`
	Backend  string        `json:"backend,omitempty"`
	Egress   bool          `json:"egress,omitempty"`
	// HostKey is the thumbprint of the key it gave a signed command under.
	HostKey string `json:"host_key,omitempty"`
	// Operator: the hub knows it as somebody who may do everything here.
	Operator bool `json:"operator,omitempty"`
	// Admin and HubOwner are the hub's words that it may be so.
	Admin     bool      `json:"admin,omitempty"`
	HubOwner  bool      `json:"hub_owner,omitempty"`
	CreditSub string    `json:"credit_sub,omitempty"`
	CreditExp time.Time `json:"credit_exp,omitzero"`
	Joined    time.Time `json:"joined"`
	// Published: it has schemas or views out, which it must send again if they
	// were lost.
	Published bool `json:"published,omitempty"`
}

// credentials is what the gate has established about somebody.
type credentials struct {
	Proven bool `json:"proven,omitempty"`
	// Principal is how the hub's trail names it, with its id.
	Principal   string `json:"principal,omitempty"`
	PrincipalID string `json:"principal_id,omitempty"`
	Email       string `json:"email,omitempty"`
	// Invite is the hash of the pass it came with, Guest that of its own secret.
	Invite string     `json:"invite,omitempty"`
	Guest  string     `json:"guest,omitempty"`
	KeyID  string     `json:"key_id,omitempty"`
	Key    kibitz.Raw `json:"key,omitempty"`
	Label  string     `json:"label,omitempty"`
	Anchor anchor     `json:"anchor"`
	// Declared: it came as a person and has said that it is an agent.
	Declared bool `json:"declared,omitempty"`
	// Allowed is the most the anchor gives; Caps says that the anchor itself named it.
	Allowed kibitz.Grant `json:"allowed"`
}

// marks are the names an identity is known by in bans and in the list of those
// who need not knock.
func (c *credentials) marks() []string {
	var out []string
	add := func(kind, value string) {
		if value != "" {
			out = append(out, kind+":"+value)
		}
	}
	add("key", c.KeyID)
	if c.Principal != "" && c.Anchor.Kind != anchorHosted {
		out = append(out, c.Principal)
	}
	add("email", c.Email)
	add("invite", c.Invite)
	return out
}

// participant is somebody in the room, or who left a moment ago.
type participant struct {
	// What every message asks, side by side: the effective grant as bits, when it
	// ends, and where frames go (nil while away).
	bits    uint16
	expires float64
	out     sink

	presence
	tier      kibitz.Tier
	hostSince time.Time
	media     kibitz.Lanes
	conn      *conn // nil while away
	broke     time.Time
	left      bool // out of the roster, still resumable
	resume    string
	sent      sentIDs
	expired   bool // the trail and the caps know that the grant has ended
	// restored: this hub has it from the store, without what it had published.
	restored bool

	minute   time.Time // of the counters below
	blocked  int
	withheld int
}

// sink takes frames.
type sink interface{ Send(o *Out) }

// unseat takes a participant's connection away.
func (p *participant) unseat() { p.conn, p.out, p.broke = nil, nil, time.Now() }

// places has every capability's place in a participant's bits.
var places = func() map[kibitz.Capability]uint16 {
	m := map[kibitz.Capability]uint16{}
	for i, w := range kibitz.Words() {
		m[w] = 1 << i
	}
	return m
}()

// bit is a capability's place; an unknown one has none.
func bit(c kibitz.Capability) uint16 { return places[c] }

var (
	bitReadChat   = bit(kibitz.ReadChat)
	bitReadRoster = bit(kibitz.ReadRoster)
	bitDirected   = bit(kibitz.ReceiveDirected)
)

// may asks the effective grant; now is in seconds.
func (p *participant) may(bits uint16, now float64) bool {
	return p.bits&bits != 0 && (p.expires == 0 || now < p.expires)
}

// grant is what counts for the participant, before expiry.
func (p *participant) grant() kibitz.Grant {
	g := p.Base
	switch {
	case p.Kind == kibitz.Human && p.tier.Full():
		g = kibitz.FullGrant()
	case p.Override != nil:
		g = *p.Override
	}
	g.Backend, g.Egress = p.Backend, p.Egress
	return g
}

// refreshGrant recomputes the bits after anything a grant depends on has changed.
func (p *participant) refreshGrant() {
	g := p.grant()
	can, _ := g.Summary()
	p.bits, p.expires, p.expired = 0, g.ExpiresAt, false
	for _, c := range can {
		p.bits |= bit(c)
	}
}

func (p *participant) effective(now time.Time) kibitz.Grant { return p.grant().Effective(now) }

// seconds is a time as grants write it.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// timeOf is the reverse.
func timeOf(s float64) time.Time { return time.UnixMilli(int64(s * 1000)) }

// member is the participant as the roster shows it.
func (p *participant) member(now time.Time) kibitz.Member {
	g := p.effective(now)
	m := kibitz.Member{
		ID: p.ID, Name: p.Name, Kind: p.Kind, Cam: p.Cam, Avatar: p.Avatar, Meta: p.Meta,
		Host: p.tier != "", Tier: p.tier, KeyID: p.KeyID, Label: p.Label, Key: p.Key, FP: p.FP,
		Backend: p.Backend, Egress: p.Egress, ReadOnly: len(g.Act) == 0, Media: p.media,
		Away: p.conn == nil, Proven: p.Proven,
	}
	return m
}

// sentIDs remembers the last messages of a participant by the ids it gave them.
type sentIDs struct {
	seq   map[string]uint64
	order []string
}

// sentMemory is how many are remembered.
const sentMemory = 256

func (s *sentIDs) find(id string) (uint64, bool) {
	seq, ok := s.seq[id]
	return seq, ok
}

func (s *sentIDs) add(id string, seq uint64) {
	if id == "" {
		return
	}
	if s.seq == nil {
		s.seq = map[string]uint64{}
	}
	if len(s.order) == sentMemory {
		delete(s.seq, s.order[0])
		s.order = s.order[1:]
	}
	s.seq[id], s.order = seq, append(s.order, id)
}
