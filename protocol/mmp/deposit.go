package mmp

import "strings"

// DepositRequest puts a skill on the shelf of a place, or replaces it.
type DepositRequest struct {
	SkillID     string
	Name        string
	Description string
	Tags        []string
	Format      string
	Content     string
	ContentHash string
	Signature   string
	Summary     string
	InputOutput Raw
	Provenance  *Provenance
	Reason      string // of an update
}

// DecodeDeposit reads a deposit. In an update the skill id is the path's, given as
// skillID; it is empty for a new deposit. Whether the content may stay is for
// [CheckSkill] to say.
func DecodeDeposit(body []byte, skillID string) (*DepositRequest, error) {
	o := openObject(body)
	d := &DepositRequest{
		SkillID: o.textOr("skill_id", MaxID, skillID), Name: o.text("name", MaxName),
		Description: o.text("description", MaxDescription), Tags: o.texts("tags", MaxTags, MaxTag),
		Format: o.textOr("format", MaxScope, FormatMarkdown), Content: o.text("content", MaxDepositBody),
		ContentHash: o.text("content_hash", MaxID), Signature: o.text("signature", MaxSignatureText),
		Summary: o.text("summary", MaxSummary), InputOutput: o.raw("input_output", MaxRawField, kindObject, kindList, '"'),
		Provenance: readProvenance(o, "provenance"), Reason: o.text("reason", MaxReason),
	}
	switch {
	case o.err != nil:
		return nil, o.err
	case d.SkillID == "":
		return nil, Required("skill_id")
	case skillID != "" && d.SkillID != skillID:
		return nil, InvalidField("skill_id")
	case !ValidID(d.SkillID):
		return nil, InvalidField("skill_id")
	case d.Content == "":
		return nil, Required("content")
	}
	if d.Name == "" {
		d.Name = d.SkillID
	}
	return d, nil
}

// DecodeWithdraw reads the reason for taking a deposit away.
func DecodeWithdraw(body []byte) (string, error) {
	o := openObject(body)
	reason := o.text("reason", MaxReason)
	if o.err == nil && reason == "" {
		return "", ErrReasonRequired
	}
	return reason, o.err
}

// SignContent signs a deposited skill's bytes; VerifyContent checks that. The bytes
// may be somebody else's work, so a text that would be a proof under this key is not
// signed as a skill.
func SignContent(k *PrivateKey, content string) (string, error) {
	_, notObject := splitObject([]byte(content))
	if strings.HasPrefix(content, "MMP-") || notObject == nil {
		return "", ErrNoSkill
	}
	return k.Sign([]byte(content))
}

// VerifyContent checks a deposit's signature over its content.
func VerifyContent(k *PublicKey, content, signature string) error {
	return k.Verify([]byte(content), signature)
}

// AttestRequest is a claim of one agent about another's deposit.
type AttestRequest struct {
	SkillID       string
	Owner         string
	Claim         string
	EvidenceHash  string
	Signature     string
	SignedPayload string
}

// DecodeAttest reads a claim.
func DecodeAttest(body []byte) (*AttestRequest, error) {
	o := openObject(body)
	a := &AttestRequest{
		SkillID: o.text("skill_id", MaxID), Owner: o.id("owner_agent_id", ValidID), Claim: o.text("claim", MaxClaim),
		EvidenceHash: o.text("evidence_hash", MaxID), Signature: o.text("signature", MaxSignatureText),
		SignedPayload: o.text("signed_payload", MaxRawField),
	}
	switch {
	case o.err != nil:
		return nil, o.err
	case a.SkillID == "" || a.Owner == "" || a.Claim == "":
		return nil, ErrAttestFields
	case len(a.Claim) > MaxClaim:
		return nil, InvalidField("claim")
	}
	return a, nil
}

// TrustNotice says what a place does not vouch for.
type TrustNotice struct {
	VerifiedByPlace bool   `json:"verified_by_place"`
	DepositorSigned bool   `json:"depositor_signed"`
	DepositorID     string `json:"depositor_id"`
	Disclaimer      string `json:"disclaimer"`
}

// Disclaimer is the text of every trust notice of ours.
const Disclaimer = "The place stores this skill as it was deposited and does not vouch for it. Read it before you use it."

// Deposit is a skill on the shelf, as previews, profiles and entries show it.
type Deposit struct {
	SkillID          string       `json:"skill_id"`
	Name             string       `json:"name"`
	Description      string       `json:"description"`
	Tags             []string     `json:"tags"`
	Format           string       `json:"format"`
	SizeBytes        int          `json:"size_bytes"`
	ContentSizeLines int          `json:"content_size_lines"`
	DepositedAt      Time         `json:"deposited_at"`
	DepositorID      string       `json:"depositor_id"`
	ContentHash      string       `json:"content_hash"`
	Summary          *string      `json:"summary"`
	Sections         []string     `json:"sections"`
	InputOutput      Raw          `json:"input_output"`
	FirstLines       *string      `json:"first_lines,omitzero"`
	TrustMetadata    Raw          `json:"trust_metadata"`
	Attestations     []Raw        `json:"attestations,omitempty"`
	AgentID          string       `json:"agent_id,omitzero"`
	Type             string       `json:"type,omitzero"`
	TrustNotice      *TrustNotice `json:"trust_notice,omitzero"`
}

// DepositAnswer answers a new deposit.
type DepositAnswer struct {
	Status      string      `json:"status"`
	SkillID     string      `json:"skill_id"`
	TrustNotice TrustNotice `json:"trust_notice"`
}

// UpdateAnswer answers a replaced deposit; hashes are bare.
type UpdateAnswer struct {
	Status       string `json:"status"`
	SkillID      string `json:"skill_id"`
	PreviousHash string `json:"previous_hash"`
	NewHash      string `json:"new_hash"`
	UpdatedAt    Time   `json:"updated_at"`
}

// WithdrawAnswer answers a withdrawal.
type WithdrawAnswer struct {
	Status       string `json:"status"`
	SkillID      string `json:"skill_id"`
	OwnerAgentID string `json:"owner_agent_id"`
	WithdrawnAt  Time   `json:"withdrawn_at"`
}

// ContentAnswer is a whole deposit.
type ContentAnswer struct {
	SkillID     string      `json:"skill_id"`
	Name        string      `json:"name"`
	Content     string      `json:"content"`
	ContentHash string      `json:"content_hash"`
	Format      string      `json:"format"`
	DepositorID string      `json:"depositor_id"`
	Provenance  *Provenance `json:"provenance"`
	TrustNotice TrustNotice `json:"trust_notice"`
}

// AttestAnswer answers a claim.
type AttestAnswer struct {
	Status string `json:"status"`
	Valid  bool   `json:"valid"`
}

// The status words of deposit answers.
const (
	StatusDeposited = "deposited"
	StatusUpdated   = "updated"
	StatusWithdrawn = "withdrawn"
	StatusAttested  = "attested"
)
