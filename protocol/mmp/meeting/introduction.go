package meeting

import (
	"slices"

	"parley.internal/protocol/mmp"
)

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
	Identity              mmp.Raw      `json:"identity"`
	Capabilities          Capabilities `json:"capabilities"`
	Skills                []SkillInfo  `json:"skills"`
	Constraints           Constraints  `json:"constraints"`
	ExchangePolicy        mmp.Raw      `json:"exchange_policy"`
	Extensions            []string     `json:"extensions"`
	ExchangeableSkillsets []string     `json:"exchangeable_skillsets"`
	PublicKey             string       `json:"public_key"`
	KeyFingerprint        string       `json:"key_fingerprint"`
	IdentitySignature     string       `json:"identity_signature"`
	Entry                 *string      `json:"entry"`
	EntrySignature        *string      `json:"entry_signature"`
	// Proof shows that the agent holds its key: to a place, the answer to its challenge;
	// to whoever asked for the introduction with a nonce, an [mmp.Encounter].
	Proof *mmp.Proof `json:"proof,omitzero"`
}

// IntroduceAnswer is GET introduce: a message for those who read messages, and the
// same introduction unwrapped at top level for those who do not.
type IntroduceAnswer struct {
	Message
	Introduction
}

// ID is what the agent calls itself; empty when it has no sound id.
func (p *PeerIntroduction) ID() string {
	for _, id := range []string{p.InstanceID, p.ClaimedAgent} {
		if mmp.ValidID(id) {
			return id
		}
	}
	return ""
}

// NewIntroduceAnswer wraps an introduction both ways; m carries it as payload.
func NewIntroduceAnswer(m Message, in Introduction) IntroduceAnswer {
	return IntroduceAnswer{Message: m, Introduction: in}
}

// PeerIntroduction is a peer's, of any generation.
type PeerIntroduction struct {
	Raw          mmp.Raw // the whole payload, compacted
	Identity     mmp.Raw
	Name         string
	InstanceID   string
	Scope        string
	Version      string // of the protocol, empty when not told
	Actions      []string
	Extensions   []string
	Formats      []string
	PublicKey    string
	Static       mmp.Static
	Entry        mmp.SignedEntry
	Proof        *mmp.Proof
	ClaimedAgent string // agent_id or from beside the introduction, if any
	Skills       []SkillInfo
}

// ReadIntroduction reads an introduction: capabilities may be a list of actions or
// an object, extensions may stand beside or inside them.
func ReadIntroduction(raw []byte) (*PeerIntroduction, error) {
	o := mmp.OpenObject(raw)
	p := &PeerIntroduction{
		Identity: o.Raw("identity", mmp.MaxRawField, '{'), Extensions: o.Texts("extensions", 200, mmp.MaxExtensionName),
		PublicKey:    o.Text("public_key", mmp.MaxPEM),
		Entry:        mmp.SignedEntry{Entry: o.Text("entry", mmp.MaxEntry), Signature: o.Text("entry_signature", mmp.MaxSignatureText)},
		Proof:        mmp.ReadProof(o),
		ClaimedAgent: o.First(2*mmp.MaxID, "agent_id", "from"),
		Version:      o.First(32, "meeting_protocol_version", "protocol_version"),
	}
	p.Static = mmp.Static{Identity: p.Identity, Signature: o.Text("identity_signature", mmp.MaxSignatureText)}
	p.Skills = ReadSkillInfos(o.Member("skills"))
	p.readIdentity(o)
	p.readCapabilities(o)
	if o.Err() != nil {
		return nil, o.Err()
	}
	compact, err := mmp.EncodeCompact(raw)
	p.Raw = compact
	return p, err
}

func (p *PeerIntroduction) readIdentity(o *mmp.Object) {
	part := o.Sub("identity")
	if part == nil {
		return
	}
	p.Name, p.InstanceID, p.Scope = part.Text("name", mmp.MaxName), part.Text("instance_id", mmp.MaxID), part.Text("scope", mmp.MaxScope)
	o.Join(part)
}

func (p *PeerIntroduction) readCapabilities(o *mmp.Object) {
	raw := o.Raw("capabilities", mmp.MaxRawField*4, '{', '[')
	if raw.Kind() != '{' {
		p.Actions = mmp.Strings(raw)
		return
	}
	part := o.Sub("capabilities")
	if part == nil {
		return
	}
	p.Actions = part.Texts("supported_actions", 200, mmp.MaxExtensionName)
	p.Formats = part.Texts("skill_formats", 50, mmp.MaxScope)
	if v := part.Text("meeting_protocol_version", 32); v != "" {
		p.Version = v
	}
	for _, name := range part.Texts("extensions", 200, mmp.MaxExtensionName) {
		if !slices.Contains(p.Extensions, name) {
			p.Extensions = append(p.Extensions, name)
		}
	}
	o.Join(part)
}

// IntroducedAnswer answers POST introduce.
type IntroducedAnswer struct {
	Status            string   `json:"status"`
	Action            string   `json:"action"`
	From              string   `json:"from"`
	IdentityVerified  bool     `json:"identity_verified"`
	Introduction      any      `json:"introduction"`
	PeerIdentity      mmp.Raw  `json:"peer_identity"`
	PeerExtensions    []string `json:"peer_extensions"`
	CommonExtensions  []string `json:"common_extensions"`
	Compatibility     string   `json:"compatibility"`
	Result            any      `json:"result"`
	SuggestedResponse any      `json:"suggested_response"`
	SessionToken      string   `json:"session_token,omitzero"`
}
