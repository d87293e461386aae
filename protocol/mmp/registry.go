package mmp

import "github.com/go-json-experiment/json/jsontext"

// Registration is a register request.
type Registration struct {
	ID           string // as it will be known; see [DecodeRegister]
	Made         bool   // the id was made here, no one asked for it
	Name         string
	Description  string
	Scope        string
	Capabilities Raw // object or list, as sent
	Endpoint     string
	Metadata     Raw
	PublicKey    string
	Static       Static
	Proof        *Proof
}

const (
	kindObject = jsontext.Kind('{')
	kindList   = jsontext.Kind('[')
)

// DecodeRegister reads a registration. An id or agent_id is kept unchanged, an
// instance_id alone becomes "agent_" and itself, and who brings none is given one.
func DecodeRegister(body []byte) (*Registration, error) {
	o := openObject(body)
	r := &Registration{
		Name: o.textOr("name", MaxName, "Unknown"), Description: o.text("description", MaxDescription),
		Scope:        o.textOr("scope", MaxScope, "general"),
		Capabilities: o.raw("capabilities", MaxRawField, kindObject, kindList),
		Endpoint:     o.first(MaxEndpoint, "endpoint", "public_endpoint"),
		Metadata:     o.raw("metadata", MaxRawField, kindObject),
		PublicKey:    o.text("public_key", maxPEM),
		Static: Static{
			Identity:  o.raw("identity", MaxRawField, kindObject),
			Signature: o.text("identity_signature", MaxSignatureText),
		},
		Proof: readProof(o),
	}
	r.readID(o)
	if o.err != nil {
		return nil, o.err
	}
	return r, nil
}

func (r *Registration) readID(o *object) {
	r.ID = o.first(1<<20, "id", "agent_id")
	if r.ID == "" {
		if instance := o.text("instance_id", 1<<20); instance != "" {
			r.ID = agentPrefix + instance
		} else {
			r.ID, r.Made = NewAgentID(), true
		}
	}
	if o.err == nil && !ValidID(r.ID) {
		o.err = ErrInvalidID
	}
}

func readProof(o *object) *Proof {
	part := o.sub("proof")
	if part == nil {
		return nil
	}
	p := &Proof{Nonce: part.text("nonce", MaxID), Signature: part.text("signature", MaxSignatureText)}
	o.join(part)
	return p
}

// Signed tells whether any proof came with the registration.
func (r *Registration) Signed() bool {
	return r.Proof != nil || r.PublicKey != "" && r.Static.Signature != "" && r.Static.Identity != nil
}

// DecodeAgentRef reads a body that only names an agent (heartbeat, unregister,
// challenge); token is the id of the token it came with, if any.
func DecodeAgentRef(body []byte, token string) (string, error) {
	o := openObject(body)
	id := o.id("agent_id", ValidID)
	if o.err != nil {
		return "", o.err
	}
	return actAs("agent_id", id, token)
}

// actAs is ActAs for an id that must be there in the end.
func actAs(field, given, token string) (string, error) {
	id, err := ActAs(given, token)
	if err == nil && id == "" {
		return "", Required(field)
	}
	return id, err
}

// CapabilityNames lists what an agent can do, from either form it may have sent:
// a list, or an object with supported_actions, in which any other true member
// counts too.
func CapabilityNames(raw Raw) []string {
	switch raw.Kind() {
	case '[':
		return stringsOf(raw)
	case '{':
		o := openObject(raw)
		actions, _ := o.members.get("supported_actions")
		names := stringsOf(actions)
		for _, m := range o.members {
			if m.value.Kind() == 't' {
				names = append(names, string(m.name))
			}
		}
		return names
	}
	return nil
}

func stringsOf(raw Raw) []string {
	items, err := splitList(raw, 1000)
	if err != nil {
		return nil
	}
	var out []string
	for _, item := range items {
		if s, err := unquote(item); err == nil {
			out = append(out, s)
		}
	}
	return out
}

// RegisterAnswer answers a registration; the last four come with a proof.
type RegisterAnswer struct {
	AgentID          string `json:"agent_id"`
	Status           string `json:"status"`
	RegisteredAt     Time   `json:"registered_at"`
	ExpiresAt        Time   `json:"expires_at"`
	IdentityVerified bool   `json:"identity_verified"`
	Updated          bool   `json:"updated"`
	PlaceID          string `json:"place_id"`
	SessionToken     string `json:"session_token,omitzero"`
	SessionExpiresAt Time   `json:"session_expires_at,omitzero"`
	Fingerprint      string `json:"fingerprint,omitzero"`
	KeyID            string `json:"key_id,omitzero"`
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
	AgentID   string `json:"agent_id"`
	Status    string `json:"status"`
	LastSeen  Time   `json:"last_seen"`
	ExpiresAt Time   `json:"expires_at"`
}

// UnregisterAnswer tells for how many seconds the agent was there.
type UnregisterAnswer struct {
	AgentID          string `json:"agent_id"`
	Status           string `json:"status"`
	WasRegisteredFor int64  `json:"was_registered_for"`
}

// Agent is one registered agent.
type Agent struct {
	ID           string  `json:"id"`
	Name         string  `json:"name"`
	Description  string  `json:"description"`
	Scope        string  `json:"scope"`
	Capabilities Raw     `json:"capabilities"`
	Endpoint     *string `json:"endpoint"`
	RegisteredAt Time    `json:"registered_at"`
	LastSeen     Time    `json:"last_seen"`
	ExpiresAt    Time    `json:"expires_at"`
	Metadata     Raw     `json:"metadata"`
	Proven       bool    `json:"proven"`
	Trust        *string `json:"trust"`
	KeyID        *string `json:"key_id"`
	Place        *string `json:"place"`
	IsSelf       bool    `json:"is_self"`
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
