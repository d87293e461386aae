package room

import (
	"context"
	"time"

	"parley.internal/internal/room/vouch"
	"parley.internal/protocol/kibitz"
)

// Ways an identity was established, to find it again when the policy changes.
const (
	anchorNone   = ""       // anybody may come
	anchorHub    = "hub"    // a person this hub knows
	anchorInvite = "invite" // a pass of the room
	anchorOIDC   = "oidc"
	anchorKey    = "key"
	anchorIssuer = "issuer"
	anchorCA     = "ca"
	anchorHosted = "hosted"
)

// anchor is why somebody was let in.
type anchor struct {
	Kind string `json:"kind,omitempty"`
	// Iss, Sub and Aud are an issuer's words.
	Iss string   `json:"iss,omitempty"`
	Sub string   `json:"sub,omitempty"`
	Aud []string `json:"aud,omitempty"`
	// Chain is the certificates as they were presented.
	Chain []string `json:"chain,omitempty"`
	// Caps are what the invite itself gives.
	Caps *kibitz.Grant `json:"caps,omitempty"`
}

// standing tells whether the agent was let in by its key or a standing policy,
// and not because the room is open.
func (a anchor) standing() bool { return a.Kind != anchorNone }

// admission is what the gate found out.
type admission struct {
	credentials
	kind     kibitz.Kind
	name     string // of the invite
	operator bool
	credit   *kibitz.Credit
	announce *kibitz.Announce
	// announced tells voice from knock.
	announced bool
	// caps discloses, by the anchor, where perception goes.
	backend string
	egress  bool
}

// gate judges one announce. It works on copies and may be slow: it runs beside
// the room.
type gate struct {
	room   string
	host   right // by the hub's word
	ours   bool  // whoever stands for a hosted agent manages the room
	key    *kibitz.PublicKey
	policy *kibitz.Policy
	from   arrival
	fps    []string
	keys   *vouch.Keys
	now    time.Time
	said   *kibitz.Announce
}

// kindOf is what somebody at the door is.
func kindOf(from arrival, a *kibitz.Announce) kibitz.Kind {
	if from.Hosted != nil || from.Declared {
		return kibitz.Agent
	}
	return a.Kind()
}

// judge is the whole gate: identity, then credit.
func (g *gate) judge(ctx context.Context) (*admission, error) {
	adm := &admission{kind: kindOf(g.from, g.said), announce: g.said}
	adm.Guest = guestHash(g.said.Token)
	var err error
	if adm.kind == kibitz.Agent {
		err = g.agent(ctx, adm)
	} else {
		err = g.human(ctx, adm)
	}
	if err != nil {
		return adm, err
	}
	if adm.kind == kibitz.Agent && g.policy.Credits.Require {
		if adm.credit, err = g.keys.Credit(ctx, g.said.AgentCredit, g.policy.Credits, g.room); err != nil {
			return adm, err
		}
	}
	return adm, nil
}

func guestHash(token string) string {
	if token == "" {
		return ""
	}
	return hashOf(token)
}

// human lets a person in.
func (g *gate) human(ctx context.Context, adm *admission) error {
	adm.Allowed = g.humanGrant(true)
	if g.from.Person {
		adm.Principal, adm.PrincipalID = g.from.Principal, g.from.PrincipalID
	}
	if g.host != "" {
		adm.operator, adm.Proven, adm.Anchor.Kind = true, true, anchorHub
		return nil
	}
	mode := g.policy.Humans.Mode
	switch {
	case mode == kibitz.HumansNone:
		return deny(kibitz.GateNoHumans, "no people in this room")
	case mode == kibitz.HumansOIDC:
		return g.idToken(ctx, adm)
	case g.said.JWT != "":
		return g.invite(adm)
	case mode == kibitz.HumansHub && g.from.Person:
		adm.Proven, adm.Anchor.Kind = true, anchorHub
		return nil
	case mode == kibitz.HumansOpen:
		adm.Proven = g.from.Person
		if adm.Proven {
			adm.Anchor.Kind = anchorHub
		}
		adm.Allowed = g.humanGrant(adm.Proven)
		return nil
	}
	return deny(kibitz.GateMissing, "a proof is needed to enter")
}

// humanGrant is the most a person gets.
func (g *gate) humanGrant(proven bool) kibitz.Grant { return humanGrant(g.policy, proven) }

func humanGrant(p *kibitz.Policy, proven bool) kibitz.Grant {
	switch {
	case !proven && p.Humans.GuestGrant != nil:
		return *p.Humans.GuestGrant
	case p.Humans.Grant != nil:
		return *p.Humans.Grant
	}
	return kibitz.FullGrant()
}

// agentGrant is the most an agent gets by an anchor.
func agentGrant(caps *kibitz.Grant) kibitz.Grant {
	if caps != nil {
		return *caps
	}
	return kibitz.AgentGrant()
}

// invite lets a person in who carries a pass.
func (g *gate) invite(adm *admission) error {
	in, err := kibitz.VerifyInvite(g.said.JWT, g.room, g.key, g.now)
	if err != nil {
		return err
	}
	if in.JKT != "" {
		return deny(kibitz.GateUnlisted, "the invite is for an agent")
	}
	adm.Proven, adm.Anchor = true, anchor{Kind: anchorInvite, Caps: in.Caps}
	adm.Invite, adm.name, adm.Label = hashOf(g.said.JWT), in.Name, in.Name
	if in.Caps != nil {
		adm.Allowed = *in.Caps
	}
	if in.Sub != "" {
		// Barred with the person it stands for, and never a host by the hub's word.
		adm.Principal = in.Sub
	}
	return nil
}

// agent lets an agent in.
func (g *gate) agent(ctx context.Context, adm *admission) error {
	if g.policy.Agents.Mode == kibitz.AgentsNone {
		return deny(kibitz.GateNoAgents, "no agents in this room")
	}
	adm.Allowed = kibitz.AgentGrant()
	if h := g.from.Hosted; h != nil {
		if !g.ours && g.policy.Agents.Mode != kibitz.AgentsOpen {
			return deny(kibitz.GateUnlisted, "the room takes agents by their keys; a host can allow one")
		}
		adm.Proven, adm.Anchor.Kind, adm.Principal = true, anchorHosted, h.Agent
		adm.backend, adm.egress = h.Backend, h.Egress
		return g.hostedKey(adm)
	}
	if g.policy.Agents.Mode == kibitz.AgentsOpen {
		if !g.presents() {
			return nil
		}
	} else if !g.policy.Agents.Anchored() {
		return deny(kibitz.GateNoAgents, "no allowed keys")
	}
	if g.said.AgentAssertion == "" {
		return deny(kibitz.GateMissing, "missing assertion or fingerprint")
	}
	return g.anchors(ctx, adm)
}

// hostedKey lets an agent of the hub show a key of its own, for the roster.
func (g *gate) hostedKey(adm *admission) error {
	if g.said.AgentAssertion == "" {
		return nil
	}
	if proven, err := g.proof(g.policy.Agents.Keys); err == nil {
		adm.Anchor.Kind = anchorKey
		g.keyAnchor(adm, proven, g.policy.Agents.Keys[proven.Entry])
		return nil
	}
	return g.ownKey(adm)
}

// presents tells whether any proof came along.
func (g *gate) presents() bool {
	a := g.said
	return a.AgentAssertion != "" || a.AgentToken != "" || len(a.AgentChain) > 0 || a.JWT != ""
}

// anchors tries what is configured and presented, the agent's own key first.
func (g *gate) anchors(ctx context.Context, adm *admission) error {
	p := &g.policy.Agents
	if len(p.Keys) > 0 {
		proven, err := g.proof(p.Keys)
		if err == nil {
			adm.Anchor.Kind = anchorKey
			g.keyAnchor(adm, proven, p.Keys[proven.Entry])
			return nil
		}
		if kibitz.CodeOf(err) != kibitz.GateUnlisted {
			return err
		}
	}
	switch {
	case len(g.said.AgentChain) > 0 && len(p.CA.Roots) > 0:
		return g.chain(adm)
	case g.said.AgentToken != "" && len(p.Issuers) > 0:
		return g.issuer(ctx, adm)
	case g.said.JWT != "" && p.Invites:
		return g.agentInvite(adm)
	case p.Mode == kibitz.AgentsOpen && len(g.said.AgentKey) > 0:
		return g.ownKey(adm)
	}
	return deny(kibitz.GateUnlisted, "no matching allowed key")
}

// proof verifies the assertion under one of the keys, for any nonce that is
// still good.
func (g *gate) proof(allowed []kibitz.AllowedKey) (proven *kibitz.Proven, err error) {
	for _, fp := range g.fps {
		proven, err = kibitz.VerifyAssertion(g.said.AgentAssertion, g.room, fp, allowed, g.now)
		if err == nil || kibitz.CodeOf(err) != kibitz.GateNotBound {
			return proven, err
		}
	}
	return nil, err
}

func (g *gate) keyAnchor(adm *admission, proven *kibitz.Proven, entry kibitz.AllowedKey) {
	g.setKey(adm, proven.Key)
	adm.Label, adm.Allowed = entry.Label, agentGrant(entry.Caps)
}

func (g *gate) setKey(adm *admission, key *kibitz.PublicKey) {
	adm.Proven, adm.KeyID = true, key.Thumbprint()
	adm.Key, _ = key.MarshalJSON()
}

// ownKey proves the key the announce itself carries.
func (g *gate) ownKey(adm *admission) error {
	if len(g.said.AgentKey) == 0 {
		return deny(kibitz.GateUnlisted, "no matching allowed key")
	}
	proven, err := g.proof([]kibitz.AllowedKey{{Key: g.said.AgentKey}})
	if err != nil {
		return err
	}
	g.setKey(adm, proven.Key)
	return nil
}

// agentInvite is a pass for one key.
func (g *gate) agentInvite(adm *admission) error {
	in, err := kibitz.VerifyInvite(g.said.JWT, g.room, g.key, g.now)
	if err != nil {
		return err
	}
	key, err := kibitz.ParsePublicKey(g.said.AgentKey)
	if err != nil || in.JKT == "" || in.JKT != key.Thumbprint() {
		return deny(kibitz.GateUnlisted, "the invite is for another key")
	}
	if err := g.ownKey(adm); err != nil {
		return err
	}
	adm.Anchor = anchor{Kind: anchorInvite, Caps: in.Caps}
	adm.Invite, adm.name, adm.Label = hashOf(g.said.JWT), in.Name, in.Name
	adm.Allowed = agentGrant(in.Caps)
	return nil
}

// reanchor finds somebody's anchor again under a new policy: what it now allows,
// or false when the anchor is gone.
func (c *credentials) reanchor(p *kibitz.Policy, kind kibitz.Kind, room string, now time.Time) (kibitz.Grant, bool) {
	if kind == kibitz.Human {
		return c.humanAnchor(p), true
	}
	if p.Agents.Mode == kibitz.AgentsNone {
		return kibitz.Grant{}, false
	}
	if c.Declared {
		return kibitz.Intersect(kibitz.AgentGrant(), c.humanAnchor(p)), true
	}
	switch c.Anchor.Kind {
	case anchorKey:
		entry, ok := p.FindKey(c.KeyID)
		return agentGrant(entry.Caps), ok
	case anchorInvite:
		return agentGrant(c.Anchor.Caps), p.Agents.Invites
	case anchorIssuer:
		entry, ok := vouch.FindIssuer(p.Agents.Issuers, c.Anchor.Iss, c.Anchor.Sub, c.Anchor.Aud, room)
		return agentGrant(entry.Grant), ok
	case anchorCA:
		_, err := vouch.Chain(c.Anchor.Chain, p.Agents.CA, now)
		return agentGrant(p.Agents.CA.Grant), err == nil
	case anchorHosted:
		return kibitz.AgentGrant(), true
	}
	return kibitz.AgentGrant(), p.Agents.Mode == kibitz.AgentsOpen
}

// humanAnchor is what somebody who came as a person is allowed.
func (c *credentials) humanAnchor(p *kibitz.Policy) kibitz.Grant {
	if c.Anchor.Kind == anchorInvite && c.Anchor.Caps != nil {
		return *c.Anchor.Caps
	}
	return humanGrant(p, c.Proven)
}

// shownName is what the newcomer calls itself, else what it was invited as.
func (a *admission) shownName() string {
	if n := a.announce.Name; n != nil && *n != "" {
		return *n
	}
	return a.name
}
