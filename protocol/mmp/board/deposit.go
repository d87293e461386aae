package board

import (
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

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
	InputOutput mmp.Raw
	Provenance  *meeting.Provenance
	Reason      string // of an update
}

// DecodeDeposit reads a deposit. In an update the skill id is the path's, given as
// skillID; it is empty for a new deposit. Whether the content may stay is for
// [CheckSkill] to say.
func DecodeDeposit(body []byte, skillID string) (*DepositRequest, error) {
	o := mmp.OpenObject(body)
	d := &DepositRequest{
		SkillID: o.TextOr("skill_id", mmp.MaxID, skillID), Name: o.Text("name", mmp.MaxName),
		Description: o.Text("description", mmp.MaxDescription), Tags: o.Texts("tags", mmp.MaxTags, mmp.MaxTag),
		Format: o.TextOr("format", mmp.MaxScope, meeting.FormatMarkdown), Content: o.Text("content", mmp.MaxDepositBody),
		ContentHash: o.Text("content_hash", mmp.MaxID), Signature: o.Text("signature", mmp.MaxSignatureText),
		Summary: o.Text("summary", mmp.MaxSummary), InputOutput: o.Raw("input_output", mmp.MaxRawField, '{', '[', '"'),
		Provenance: meeting.ReadProvenance(o, "provenance"), Reason: o.Text("reason", mmp.MaxReason),
	}
	switch {
	case o.Err() != nil:
		return nil, o.Err()
	case d.SkillID == "":
		return nil, mmp.Required("skill_id")
	case skillID != "" && d.SkillID != skillID:
		return nil, mmp.InvalidField("skill_id")
	case !mmp.ValidID(d.SkillID):
		return nil, mmp.InvalidField("skill_id")
	case d.Content == "":
		return nil, mmp.Required("content")
	}
	if d.Name == "" {
		d.Name = d.SkillID
	}
	return d, nil
}

// DecodeWithdraw reads the reason for taking a deposit away.
func DecodeWithdraw(body []byte) (string, error) {
	o := mmp.OpenObject(body)
	reason := o.Text("reason", mmp.MaxReason)
	if o.Err() == nil && reason == "" {
		return "", mmp.ErrReasonRequired
	}
	return reason, o.Err()
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
	o := mmp.OpenObject(body)
	a := &AttestRequest{
		SkillID: o.Text("skill_id", mmp.MaxID), Owner: o.ID("owner_agent_id", mmp.ValidID), Claim: o.Text("claim", mmp.MaxClaim),
		EvidenceHash: o.Text("evidence_hash", mmp.MaxID), Signature: o.Text("signature", mmp.MaxSignatureText),
		SignedPayload: o.Text("signed_payload", mmp.MaxRawField),
	}
	switch {
	case o.Err() != nil:
		return nil, o.Err()
	case a.SkillID == "" || a.Owner == "" || a.Claim == "":
		return nil, mmp.ErrAttestFields
	case len(a.Claim) > mmp.MaxClaim:
		return nil, mmp.InvalidField("claim")
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
	DepositedAt      mmp.Time     `json:"deposited_at"`
	DepositorID      string       `json:"depositor_id"`
	ContentHash      string       `json:"content_hash"`
	Summary          *string      `json:"summary"`
	Sections         []string     `json:"sections"`
	InputOutput      mmp.Raw      `json:"input_output"`
	FirstLines       *string      `json:"first_lines,omitzero"`
	TrustMetadata    mmp.Raw      `json:"trust_metadata"`
	Attestations     []mmp.Raw    `json:"attestations,omitempty"`
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
	Status       string   `json:"status"`
	SkillID      string   `json:"skill_id"`
	PreviousHash string   `json:"previous_hash"`
	NewHash      string   `json:"new_hash"`
	UpdatedAt    mmp.Time `json:"updated_at"`
}

// WithdrawAnswer answers a withdrawal.
type WithdrawAnswer struct {
	Status       string   `json:"status"`
	SkillID      string   `json:"skill_id"`
	OwnerAgentID string   `json:"owner_agent_id"`
	WithdrawnAt  mmp.Time `json:"withdrawn_at"`
}

// ContentAnswer is a whole deposit.
type ContentAnswer struct {
	SkillID     string              `json:"skill_id"`
	Name        string              `json:"name"`
	Content     string              `json:"content"`
	ContentHash string              `json:"content_hash"`
	Format      string              `json:"format"`
	DepositorID string              `json:"depositor_id"`
	Provenance  *meeting.Provenance `json:"provenance"`
	TrustNotice TrustNotice         `json:"trust_notice"`
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
