package kibitz

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"

	"github.com/go-json-experiment/json"
)

// Ways to let people in.
const (
	HumansHub    = "hub"
	HumansInvite = "invite"
	HumansOIDC   = "oidc"
	HumansOpen   = "open"
	HumansNone   = "none"
)

// Ways to let agents in.
const (
	AgentsGated = "gated"
	AgentsOpen  = "open"
	AgentsNone  = "none"
)

// Places of a room.
const (
	DefaultMax = 32
	MostMax    = 10_000
)

// Policy is who may enter a room and with which grant. [ReadPolicy] fills in
// what was left out.
type Policy struct {
	// Exp is in epoch seconds; zero never ends.
	Exp     float64      `json:"exp"`
	Notice  string       `json:"notice"`
	Max     int          `json:"max"`
	Sealed  bool         `json:"sealed"`
	Humans  HumansPolicy `json:"humans"`
	Agents  AgentsPolicy `json:"agents"`
	Credits CreditPolicy `json:"credits"`
	Host    HostPolicy   `json:"host"`
	Lobby   LobbyPolicy  `json:"lobby"`
	Views   ViewsPolicy  `json:"views"`
	Mesh    MeshPolicy   `json:"mesh"`
}

// HumansPolicy is about people. An absent grant is the default of its place, an
// empty one is an empty grant.
type HumansPolicy struct {
	Mode       string     `json:"mode"`
	Grant      *Grant     `json:"grant,omitzero"`
	GuestGrant *Grant     `json:"guestGrant,omitzero"`
	OIDC       OIDCPolicy `json:"oidc,omitzero"`
}

// OIDCPolicy says whose ID tokens count and for whom. With both lists empty
// every verified email does.
type OIDCPolicy struct {
	Issuer   string `json:"issuer,omitzero"`
	ClientID string `json:"clientId,omitzero"`
	JWKSURI  string `json:"jwksUri,omitzero"`
	// AuthURI is where people sign in; without it they need a program that brings the token.
	AuthURI string   `json:"authUri,omitzero"`
	Emails  []string `json:"emails,omitzero"`
	Domains []string `json:"domains,omitzero"`
	// Hashed are members of a manifest with a hashed list; see [HashMember].
	Hashed []string `json:"hashed,omitzero"`
	// Listed says that empty lists mean nobody: a manifest names its members.
	Listed bool `json:"listed,omitzero"`
}

// Allows tells whether a verified email may enter the room.
func (o *OIDCPolicy) Allows(email, room string) bool {
	if len(o.Emails)+len(o.Domains)+len(o.Hashed) == 0 {
		return !o.Listed
	}
	m := Manifest{Members: o.Emails, Domains: o.Domains, MH: o.Hashed, Room: room}
	return m.HasMember(email)
}

// NormalEmail is the form addresses are compared in.
func NormalEmail(s string) string { return normalEmail(s) }

// SameEmail compares two addresses as lists do.
func SameEmail(a, b string) bool { return normalEmail(a) == normalEmail(b) }

// AgentsPolicy is about agents: their own keys, invites, and standing anchors.
type AgentsPolicy struct {
	Mode    string         `json:"mode"`
	Keys    []AllowedKey   `json:"keys,omitzero"`
	Invites bool           `json:"invites"`
	Issuers []IssuerPolicy `json:"issuers,omitzero"`
	CA      CAPolicy       `json:"ca,omitzero"`
}

// Anchored tells whether any anchor could admit an agent.
func (a *AgentsPolicy) Anchored() bool {
	return len(a.Keys) > 0 || a.Invites || len(a.Issuers) > 0 || len(a.CA.Roots) > 0
}

// IssuerPolicy admits agents an issuer of workload identities vouches for.
type IssuerPolicy struct {
	Iss     string `json:"iss"`
	JWKSURI string `json:"jwksUri,omitzero"`
	JWKS    Raw    `json:"jwks,omitzero"`
	// Aud is what the token must be for; empty: the room's id.
	Aud string `json:"aud,omitzero"`
	// Sub is a pattern in which * stands for any text.
	Sub   string `json:"sub"`
	Grant *Grant `json:"grant,omitzero"`
}

// CAPolicy admits agents with a certificate.
type CAPolicy struct {
	Roots  []string `json:"roots,omitzero"`
	SPIFFE string   `json:"spiffe,omitzero"`
	Grant  *Grant   `json:"grant,omitzero"`
}

// CreditPolicy is the per-minute gate; off, it is dormant.
type CreditPolicy struct {
	Require bool     `json:"requireAgentCredits"`
	Issuer  []string `json:"issuer,omitzero"`
	JWKSURI string   `json:"jwksUri,omitzero"`
	JWKS    Raw      `json:"jwks,omitzero"`
	Kind    string   `json:"kind,omitzero"`
}

// HostPolicy says who is a host beside the hub's operators.
type HostPolicy struct {
	Key   Raw    `json:"key,omitzero"`
	Email string `json:"email,omitzero"`
	Name  string `json:"name,omitzero"`
}

// LobbyPolicy is how a room starts: with people waiting at the door or not.
type LobbyPolicy struct {
	On     bool `json:"on"`
	Agents bool `json:"agents"`
}

// ViewsPolicy says who publishes app state: "host", "humans", or key ids.
type ViewsPolicy struct {
	Publishers   []string `json:"publishers"`
	DirectedOnly bool     `json:"directedOnly"`
}

// MeshPolicy is what may go peer to peer.
type MeshPolicy struct {
	Media bool `json:"media"`
	Data  bool `json:"data"`
}

// Peers is what goes peer to peer under this policy. Content of a sealed room
// stays in its boxes on the relay, and views for one participant each are kept
// apart by the hub alone: neither goes over links.
func (p *Policy) Peers() MeshPolicy {
	return MeshPolicy{Media: p.Mesh.Media, Data: p.Mesh.Data && !p.Sealed && !p.Views.DirectedOnly}
}

// DefaultPolicy is what an empty document means.
func DefaultPolicy() *Policy {
	return &Policy{
		Max: DefaultMax, Humans: HumansPolicy{Mode: HumansHub}, Agents: AgentsPolicy{Mode: AgentsGated},
		Views: ViewsPolicy{Publishers: []string{"host"}}, Mesh: MeshPolicy{Media: true},
	}
}

// ReadPolicy reads a policy document. Unknown fields, unknown modes and values
// that make no sense are policy.bad; unknown words of a grant are dropped. The
// error is a [*Refusal].
func ReadPolicy(raw Raw) (*Policy, error) {
	if _, err := readObject(raw); err != nil {
		return nil, refuse(PolicyBad, "a policy is a JSON object")
	}
	p := DefaultPolicy()
	if err := json.Unmarshal(raw, p, json.RejectUnknownMembers(true), lenientText); err != nil {
		return nil, refuse(PolicyBad, "unknown field or wrong type"+fieldOf(err))
	}
	p.fill()
	if err := p.check(); err != nil {
		return nil, refuse(PolicyBad, err.Error())
	}
	return p, nil
}

// fieldOf names where a document is wrong, without its values.
func fieldOf(err error) string {
	if e, ok := errors.AsType[*json.SemanticError](err); ok && e.JSONPointer != "" {
		return " at " + quoteReason(string(e.JSONPointer))
	}
	return ""
}

// fill undoes what a null did to a default.
func (p *Policy) fill() {
	if p.Humans.Mode == "" {
		p.Humans.Mode = HumansHub
	}
	if p.Agents.Mode == "" {
		p.Agents.Mode = AgentsGated
	}
	if p.Max == 0 {
		p.Max = DefaultMax
	}
	if p.Views.Publishers == nil {
		p.Views.Publishers = []string{"host"}
	}
	for _, r := range []*Raw{&p.Host.Key, &p.Credits.JWKS} {
		if r.Kind() == 'n' {
			*r = nil
		}
	}
}

func (p *Policy) check() error {
	switch {
	case !slices.Contains([]string{HumansHub, HumansInvite, HumansOIDC, HumansOpen, HumansNone}, p.Humans.Mode):
		return errors.New("unknown humans.mode")
	case !slices.Contains([]string{AgentsGated, AgentsOpen, AgentsNone}, p.Agents.Mode):
		return errors.New("unknown agents.mode")
	case p.Max < 1 || p.Max > MostMax:
		return fmt.Errorf("max is from 1 to %d", MostMax)
	case p.Exp < 0:
		return errors.New("exp is a time in seconds")
	case len(p.Notice) > MaxAvatar:
		return errors.New("notice is too long")
	case p.Humans.OIDC.AuthURI != "" && !webAddress(p.Humans.OIDC.AuthURI):
		return errors.New("humans.oidc.authUri is not an https address")
	}
	return nil
}

// webAddress tells whether people may be sent to an address: https, or http on this computer.
// Anything else, such as a script, would run on the hub's own page.
func webAddress(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	ip, _ := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip.IsLoopback())
}

// Warnings lists what is kept and does nothing, or is risky.
func (p *Policy) Warnings() []string {
	out := []string{}
	for i, k := range p.Agents.Keys {
		if _, err := ParsePublicKey(k.Key); err != nil {
			out = append(out, fmt.Sprintf("agents.keys[%d] cannot be imported and admits nobody", i))
		}
	}
	if len(p.Host.Key) > 0 {
		if _, err := ParsePublicKey(p.Host.Key); err != nil {
			out = append(out, "host.key cannot be imported and makes nobody a host")
		}
	}
	if p.Humans.Mode == HumansOpen {
		out = append(out, "anyone with the link may enter")
	}
	if p.Humans.Mode == HumansOIDC && p.Humans.OIDC.Issuer == "" {
		out = append(out, "humans.oidc names no issuer and admits nobody")
	}
	if p.Mesh.Data && !p.Peers().Data {
		out = append(out, "mesh.data does nothing in a sealed room or with views.directedOnly")
	}
	return out
}

// Expired tells whether nobody may enter any more.
func (p *Policy) Expired(seconds float64) bool { return p.Exp > 0 && seconds >= p.Exp }

// FindKey is the entry of an agent key by its thumbprint.
func (p *Policy) FindKey(thumbprint string) (AllowedKey, bool) {
	for _, k := range p.Agents.Keys {
		if key, err := ParsePublicKey(k.Key); err == nil && key.Thumbprint() == thumbprint {
			return k, true
		}
	}
	return AllowedKey{}, false
}

// Apply puts a manifest's membership into the policy.
func (p *Policy) Apply(m *Manifest) error {
	mode, ok := m.HumansMode()
	if !ok {
		return refuse(PolicyBad, "wrong mode")
	}
	p.Humans.Mode = mode
	p.Agents.Keys = m.AgentKeys
	p.Exp = m.Exp
	if mode == HumansOIDC {
		o := &p.Humans.OIDC
		o.Emails, o.Domains, o.Hashed, o.Listed = m.Members, m.Domains, m.MH, true
		if len(m.MH) > 0 {
			o.Emails, o.Domains = nil, nil
		}
	}
	return nil
}

// Match tells whether a text fits a pattern in which * stands for any text.
func Match(pattern, text string) bool {
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(text) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, mark = i, j
			i++
		case i < len(pattern) && pattern[i] == text[j]:
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == '*' {
		i++
	}
	return i == len(pattern)
}
