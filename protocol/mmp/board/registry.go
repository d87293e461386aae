package board

import (
	"parley.internal/protocol/mmp"
)

// Registration is a register request.
type Registration struct {
	ID           string // as it will be known; see [DecodeRegister]
	Made         bool   // the id was made here, no one asked for it
	Name         string
	Description  string
	Scope        string
	Capabilities mmp.Raw // object or list, as sent
	Endpoint     string
	Metadata     mmp.Raw
	PublicKey    string
	Static       mmp.Static
	Proof        *mmp.Proof
}

// DecodeRegister reads a registration. An id or agent_id is kept unchanged, an
// instance_id alone becomes "agent_" and itself, and who brings none is given one.
func DecodeRegister(body []byte) (*Registration, error) {
	o := mmp.OpenObject(body)
	r := &Registration{
		Name: o.TextOr("name", mmp.MaxName, "Unknown"), Description: o.Text("description", mmp.MaxDescription),
		Scope:        o.TextOr("scope", mmp.MaxScope, "general"),
		Capabilities: o.Raw("capabilities", mmp.MaxRawField, '{', '['),
		Endpoint:     o.First(mmp.MaxEndpoint, "endpoint", "public_endpoint"),
		Metadata:     o.Raw("metadata", mmp.MaxRawField, '{'),
		PublicKey:    o.Text("public_key", mmp.MaxPEM),
		Static: mmp.Static{
			Identity:  o.Raw("identity", mmp.MaxRawField, '{'),
			Signature: o.Text("identity_signature", mmp.MaxSignatureText),
		},
		Proof: mmp.ReadProof(o),
	}
	r.readID(o)
	if o.Err() != nil {
		return nil, o.Err()
	}
	return r, nil
}

func (r *Registration) readID(o *mmp.Object) {
	r.ID = o.First(1<<20, "id", "agent_id")
	if r.ID == "" {
		if instance := o.Text("instance_id", 1<<20); instance != "" {
			r.ID = mmp.AgentPrefix + instance
		} else {
			r.ID, r.Made = mmp.NewAgentID(), true
		}
	}
	if !mmp.ValidID(r.ID) {
		o.Refuse(mmp.ErrInvalidID)
	}
}

// Signed tells whether any proof came with the registration.
func (r *Registration) Signed() bool {
	return r.Proof != nil || r.PublicKey != "" && r.Static.Signature != "" && r.Static.Identity != nil
}

// DecodeAgentRef reads a body that only names an agent (heartbeat, unregister,
// challenge); token is the id of the token it came with, if any.
func DecodeAgentRef(body []byte, token string) (string, error) {
	o := mmp.OpenObject(body)
	id := o.ID("agent_id", mmp.ValidID)
	if o.Err() != nil {
		return "", o.Err()
	}
	return mmp.ActingAgent("agent_id", id, token)
}

// CapabilityNames lists what an agent can do, from either form it may have sent:
// a list, or an object with supported_actions, in which any other true member
// counts too.
func CapabilityNames(raw mmp.Raw) []string {
	switch raw.Kind() {
	case '[':
		return mmp.Strings(raw)
	case '{':
		o := mmp.OpenObject(raw)
		names := mmp.Strings(o.Member("supported_actions"))
		for name, value := range o.All() {
			if value.Kind() == 't' {
				names = append(names, name)
			}
		}
		return names
	}
	return nil
}

// RegisterAnswer answers a registration; the last four come with a proof.
type RegisterAnswer struct {
	AgentID          string   `json:"agent_id"`
	Status           string   `json:"status"`
	RegisteredAt     mmp.Time `json:"registered_at"`
	ExpiresAt        mmp.Time `json:"expires_at"`
	IdentityVerified bool     `json:"identity_verified"`
	Updated          bool     `json:"updated"`
	PlaceID          string   `json:"place_id"`
	SessionToken     string   `json:"session_token,omitzero"`
	SessionExpiresAt mmp.Time `json:"session_expires_at,omitzero"`
	Fingerprint      string   `json:"fingerprint,omitzero"`
	KeyID            string   `json:"key_id,omitzero"`
}

// The status words of registry answers.
const (
	StatusRegistered   = "registered"
	StatusActive       = "active"
	StatusUnregistered = "unregistered"
	StatusNotFound     = "not_found"
)

// HeartbeatAnswer answers a sign of life.
type HeartbeatAnswer struct {
	AgentID   string   `json:"agent_id"`
	Status    string   `json:"status"`
	LastSeen  mmp.Time `json:"last_seen"`
	ExpiresAt mmp.Time `json:"expires_at"`
}

// UnregisterAnswer tells for how many seconds the agent was there.
type UnregisterAnswer struct {
	AgentID          string `json:"agent_id"`
	Status           string `json:"status"`
	WasRegisteredFor int64  `json:"was_registered_for"`
}

// Agent is one registered agent.
type Agent struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Description  string   `json:"description"`
	Scope        string   `json:"scope"`
	Capabilities mmp.Raw  `json:"capabilities"`
	Endpoint     *string  `json:"endpoint"`
	RegisteredAt mmp.Time `json:"registered_at"`
	LastSeen     mmp.Time `json:"last_seen"`
	ExpiresAt    mmp.Time `json:"expires_at"`
	Metadata     mmp.Raw  `json:"metadata"`
	Proven       bool     `json:"proven"`
	Trust        *string  `json:"trust"`
	KeyID        *string  `json:"key_id"`
	Place        *string  `json:"place"`
	IsSelf       bool     `json:"is_self"`
}

// AgentsAnswer lists agents in order of registration.
type AgentsAnswer struct {
	Agents []Agent `json:"agents"`
	Count  int     `json:"count"`
}

// ProfileAnswer is all a place knows about an agent.
type ProfileAnswer struct {
	Agent           Agent     `json:"agent"`
	DepositedSkills []Deposit `json:"deposited_skills"`
	DepositCount    int       `json:"deposit_count"`
	Needs           []Need    `json:"needs"`
	Postings        []Posting `json:"postings"`
}
