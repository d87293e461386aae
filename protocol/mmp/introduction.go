package mmp

import "slices"

// Capabilities is what an agent says it can do.
type Capabilities struct {
	MeetingProtocolVersion string   `json:"meeting_protocol_version"`
	SupportedActions       []string `json:"supported_actions"`
	SkillFormats           []string `json:"skill_formats"`
	Extensions             []string `json:"extensions"`
}

// Constraints is what an agent insists on.
type Constraints struct {
	MaxSkillSizeBytes  int      `json:"max_skill_size_bytes"`
	RateLimitPerMinute int      `json:"rate_limit_per_minute"`
	AllowedFormats     []string `json:"allowed_formats"`
	ExecutableAllowed  bool     `json:"executable_allowed"`
	RequireApproval    bool     `json:"require_approval"`
}

// SkillInfo lists a public skill; never a path.
type SkillInfo struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Layer       string   `json:"layer"`
	Format      string   `json:"format"`
	Public      bool     `json:"public"`
	Summary     string   `json:"summary"`
	Tags        []string `json:"tags"`
	ContentHash string   `json:"content_hash"`
}

// Introduction is an agent introducing itself. The identity is raw, so that its
// signature still fits what is sent.
type Introduction struct {
	Identity              Raw          `json:"identity"`
	Capabilities          Capabilities `json:"capabilities"`
	Skills                []SkillInfo  `json:"skills"`
	Constraints           Constraints  `json:"constraints"`
	ExchangePolicy        Raw          `json:"exchange_policy"`
	Extensions            []string     `json:"extensions"`
	ExchangeableSkillsets []string     `json:"exchangeable_skillsets"`
	PublicKey             string       `json:"public_key"`
	KeyFingerprint        string       `json:"key_fingerprint"`
	IdentitySignature     string       `json:"identity_signature"`
	Entry                 *string      `json:"entry"`
	EntrySignature        *string      `json:"entry_signature"`
}

// IntroduceAnswer is GET introduce: a message for those who read messages, and the
// same introduction unwrapped at top level for those who do not.
type IntroduceAnswer struct {
	Message
	Introduction
}

// NewIntroduceAnswer wraps an introduction both ways; m carries it as payload.
func NewIntroduceAnswer(m Message, in Introduction) IntroduceAnswer {
	return IntroduceAnswer{Message: m, Introduction: in}
}

// PeerIntroduction is a peer's, of any generation.
type PeerIntroduction struct {
	Raw          Raw // the whole payload, compacted
	Identity     Raw
	Name         string
	InstanceID   string
	Scope        string
	Version      string // of the protocol, empty when not told
	Actions      []string
	Extensions   []string
	Formats      []string
	PublicKey    string
	Static       Static
	Entry        SignedEntry
	Proof        *Proof
	ClaimedAgent string // agent_id or from beside the introduction, if any
}

// ReadIntroduction reads an introduction: capabilities may be a list of actions or
// an object, extensions may stand beside or inside them.
func ReadIntroduction(raw []byte) (*PeerIntroduction, error) {
	o := openObject(raw)
	p := &PeerIntroduction{
		Identity: o.raw("identity", MaxRawField, kindObject), Extensions: o.texts("extensions", 200, MaxExtensionName),
		PublicKey:    o.text("public_key", maxPEM),
		Entry:        SignedEntry{Entry: o.text("entry", maxEntry), Signature: o.text("entry_signature", MaxSignatureText)},
		Proof:        readProof(o),
		ClaimedAgent: o.first(2*MaxID, "agent_id", "from"),
		Version:      o.first(32, "meeting_protocol_version", "protocol_version"),
	}
	p.Static = Static{Identity: p.Identity, Signature: o.text("identity_signature", MaxSignatureText)}
	p.readIdentity(o)
	p.readCapabilities(o)
	if o.err != nil {
		return nil, o.err
	}
	compact, err := EncodeCompact(raw)
	p.Raw = compact
	return p, err
}

// EncodeCompact is Compact, with an empty body as an empty object.
func EncodeCompact(raw []byte) (Raw, error) {
	if len(raw) == 0 {
		return Raw("{}"), nil
	}
	return Compact(raw)
}

func (p *PeerIntroduction) readIdentity(o *object) {
	part := o.sub("identity")
	if part == nil {
		return
	}
	p.Name, p.InstanceID, p.Scope = part.text("name", MaxName), part.text("instance_id", MaxID), part.text("scope", MaxScope)
	o.join(part)
}

func (p *PeerIntroduction) readCapabilities(o *object) {
	raw := o.raw("capabilities", MaxRawField*4, kindObject, kindList)
	if raw.Kind() != '{' {
		p.Actions = stringsOf(raw)
		return
	}
	part := o.sub("capabilities")
	if part == nil {
		return
	}
	p.Actions = part.texts("supported_actions", 200, MaxExtensionName)
	p.Formats = part.texts("skill_formats", 50, MaxScope)
	if v := part.text("meeting_protocol_version", 32); v != "" {
		p.Version = v
	}
	for _, name := range part.texts("extensions", 200, MaxExtensionName) {
		if !slices.Contains(p.Extensions, name) {
			p.Extensions = append(p.Extensions, name)
		}
	}
	o.join(part)
}

// IntroducedAnswer answers POST introduce.
type IntroducedAnswer struct {
	Status            string   `json:"status"`
	Action            string   `json:"action"`
	From              string   `json:"from"`
	IdentityVerified  bool     `json:"identity_verified"`
	Introduction      any      `json:"introduction"`
	PeerIdentity      Raw      `json:"peer_identity"`
	PeerExtensions    []string `json:"peer_extensions"`
	CommonExtensions  []string `json:"common_extensions"`
	Compatibility     string   `json:"compatibility"`
	Result            any      `json:"result"`
	SuggestedResponse any      `json:"suggested_response"`
	SessionToken      string   `json:"session_token,omitzero"`
}
