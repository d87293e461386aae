package mmp

import (
	"errors"
	"fmt"
	"strings"
)

// Error is a refusal as the protocol's tables spell it. It is comparable, so
// errors.Is finds the ones below.
type Error struct {
	Status int
	Code   string
	Text   string
	// RetryAfter is in seconds, 0 for none.
	RetryAfter int
}

// Error is the text a person reads.
func (e Error) Error() string { return e.Text }

// ErrorBody is the answer's body.
type ErrorBody struct {
	Error      string   `json:"error"`
	Code       string   `json:"code"`
	Message    string   `json:"message"`
	RetryAfter int      `json:"retry_after,omitzero"`
	Reasons    []string `json:"reasons,omitempty"`
}

// Body makes the answer. The error member is the text on routes that the first
// generation of clients knows, since they show it to people; elsewhere, and for
// statuses those clients never met, it is the code.
func (e Error) Body(firstGeneration bool) ErrorBody {
	b := ErrorBody{Error: e.Text, Code: e.Code, Message: e.Text, RetryAfter: e.RetryAfter}
	if !firstGeneration || codeStatus(e.Status) {
		b.Error = e.Code
	}
	return b
}

func codeStatus(status int) bool {
	switch status {
	case 401, 403, 409, 422, 429, 503:
		return true
	}
	return false
}

// WithRetry is the same refusal with a hint when to come back.
func (e Error) WithRetry(seconds int) Error {
	e.RetryAfter = seconds
	return e
}

// Rejection is a 422 that lists its reasons.
type Rejection struct {
	Refusal Error
	Reasons []string
}

// Error lists the reasons after the text.
func (r *Rejection) Error() string { return r.Refusal.Text + ": " + strings.Join(r.Reasons, ", ") }

// Unwrap makes the refusal itself findable.
func (r *Rejection) Unwrap() error { return r.Refusal }

// Body is the answer with its reasons.
func (r *Rejection) Body() ErrorBody {
	b := r.Refusal.Body(false)
	b.Reasons = r.Reasons
	return b
}

// Refusals any route may give.
var (
	ErrNotFound      = Error{Status: 404, Code: "not_found", Text: "Not found"}
	ErrMethod        = Error{Status: 405, Code: "method_not_allowed", Text: "Method not allowed"}
	ErrInternal      = Error{Status: 500, Code: "internal_error", Text: "Internal server error"}
	ErrInvalidJSON   = Error{Status: 400, Code: "invalid_json", Text: "Invalid JSON"}
	ErrInvalidID     = Error{Status: 400, Code: "invalid_id", Text: "Invalid agent id"}
	ErrBodyTooLarge  = Error{Status: 413, Code: "body_too_large", Text: "Request body too large"}
	ErrTooSlow       = Error{Status: 408, Code: "request_timeout", Text: "Request came too slowly"}
	ErrRateLimited   = Error{Status: 429, Code: "rate_limited", Text: "Too many requests"}
	ErrStorage       = Error{Status: 503, Code: "storage_unavailable", Text: "Storage is unavailable, nothing was stored"}
	ErrPlaceFull     = Error{Status: 503, Code: "place_full", Text: "The meeting place is full"}
	ErrForeignOrigin = Error{Status: 403, Code: "foreign_origin", Text: "Requests from other web sites are refused"}
	ErrAskTwice      = Error{Status: 409, Code: "id_in_use", Text: "A request of that id is in progress"}
	ErrSkillset      = Error{Status: 403, Code: "skillset_exchange_disabled", Text: "Archives of skills are not exchanged here"}
)

// Refusals about identity.
var (
	ErrAuthRequired      = Error{Status: 401, Code: "authentication_required", Text: "Authentication required"}
	ErrToken             = Error{Status: 401, Code: "invalid_or_expired_token", Text: "Invalid or expired token"}
	ErrSignature         = Error{Status: 401, Code: "invalid_signature", Text: "The signature does not fit the key"}
	ErrChallengeRequired = Error{Status: 401, Code: "challenge_required", Text: "This agent proves its key by challenge"}
	ErrAddress           = Error{Status: 421, Code: "wrong_address", Text: "This place is not known by the address it was called at; its operator sets public_url"}
	ErrNonce             = Error{Status: 401, Code: "invalid_nonce", Text: "The nonce is unknown, used or expired"}
	ErrNotYourAgent      = Error{Status: 403, Code: "not_your_agent", Text: "The token belongs to another agent"}
	ErrOperatorOnly      = Error{Status: 403, Code: "operator_only", Text: "Only the operator of this place may do that"}
	ErrKeyPinned         = Error{Status: 409, Code: "key_pinned", Text: "Another key is pinned for this agent"}
	ErrForeignID         = Error{Status: 409, Code: "key_pinned", Text: "This id is the hash of another key"}
	ErrNoSession         = Error{Status: 404, Code: "no_session", Text: "No session is open"}
	ErrNoToken           = Error{Status: 400, Code: "no_token", Text: "No session token was sent"}
)

// Refusals of registry, board, keys and relay.
var (
	ErrAgentNotFound       = Error{Status: 404, Code: "agent_not_found", Text: "Agent not found"}
	ErrInvalidType         = Error{Status: 400, Code: "invalid_type", Text: "Invalid type. Must be one of: offer_skill, request_skill, announcement"}
	ErrPostingNotFound     = Error{Status: 404, Code: "posting_not_found", Text: "Posting not found"}
	ErrRemoveNotFound      = Error{Status: 400, Code: "posting_not_found", Text: "Posting not found"}
	ErrRemoveNotAuthorized = Error{Status: 400, Code: "not_authorized", Text: "Not authorized to remove this posting"}
	ErrReasonRequired      = Error{Status: 400, Code: "reason_required", Text: "reason is required"}
	ErrDepositNotFound     = Error{Status: 404, Code: "not_found", Text: "Skill not found"}
	ErrDepositRejected     = Error{Status: 422, Code: "deposit_rejected", Text: "The deposit was rejected"}
	ErrUpdateRejected      = Error{Status: 422, Code: "update_rejected", Text: "The update was rejected"}
	ErrAttestFields        = Error{Status: 400, Code: "missing_fields", Text: "skill_id, owner_agent_id and claim are required"}
	ErrAttestSkill         = Error{Status: 422, Code: "skill_not_found", Text: "No such deposited skill"}
	ErrAttestSignature     = Error{Status: 422, Code: "signature_invalid", Text: "The signature does not fit the key"}
	ErrAttestDuplicate     = Error{Status: 422, Code: "duplicate", Text: "This claim was already made"}
	ErrInvalidKey          = Error{Status: 400, Code: "invalid_key", Text: "public_key must be a PEM RSA public key of 2048 to 8192 bits"}
	ErrInvalidEntry        = Error{Status: 400, Code: "invalid_entry", Text: "The key entry does not fit its signature, agent or key"}
	ErrKeyNotFound         = Error{Status: 404, Code: "key_not_found", Text: "Public key not found for agent"}
	ErrBlobEmpty           = Error{Status: 400, Code: "empty_blob", Text: "Encrypted blob cannot be empty"}
	ErrBlobTooLarge        = Error{Status: 400, Code: "message_too_large", Text: "Message exceeds maximum size (1048576 bytes)"}
	ErrBlobHash            = Error{Status: 400, Code: "hash_mismatch", Text: "blob_hash does not fit encrypted_blob"}
	ErrUnknownRecipient    = Error{Status: 404, Code: "unknown_recipient", Text: "Recipient is not known here"}
	ErrQueueFull           = Error{Status: 429, Code: "queue_full", Text: "The recipient's queue is full"}
	ErrIdempotency         = Error{Status: 409, Code: "idempotency_conflict", Text: "The idempotency key was used for another message"}
	ErrTooManyPolls        = Error{Status: 429, Code: "too_many_polls", Text: "Too many waiting requests of this agent"}
)

// Refusals of direct endpoints.
var (
	ErrTimestamp       = Error{Status: 400, Code: "timestamp_off", Text: "The timestamp is more than 24 hours off"}
	ErrMissingParam    = Error{Status: 400, Code: "missing_param", Text: "skill_id is required"}
	ErrSkillNotFound   = Error{Status: 404, Code: "not_found", Text: "Skill not found"}
	ErrNotExchangeable = Error{Status: 403, Code: "not_exchangeable", Text: "This skill is not exchanged"}
)

// Required says that a field is missing, in the words old clients match.
func Required(field string) Error {
	return Error{Status: 400, Code: "missing_field", Text: field + " is required"}
}

// InvalidField names a member of the wrong type, or one that breaks its limit.
func InvalidField(field string) Error {
	return Error{Status: 400, Code: "invalid_field", Text: "Invalid field: " + field}
}

// InvalidParam names a query parameter that cannot be read.
func InvalidParam(name string) Error {
	return Error{Status: 400, Code: "invalid_param", Text: "Invalid parameter: " + name}
}

// MissingFields lists the required members a message lacks.
func MissingFields(names ...string) Error {
	return Error{Status: 400, Code: "missing_fields", Text: "Missing required fields: " + strings.Join(names, ", ")}
}

// MaxPostings refuses one posting more than an agent may have.
func MaxPostings(limit int) Error {
	return Error{Status: 400, Code: "max_postings", Text: fmt.Sprintf("Maximum postings reached (%d). Remove old postings first.", limit)}
}

// SkillNotFound is the makers' refusal of a skill nobody has.
func SkillNotFound(skill string) Error {
	return Error{Status: 400, Code: "skill_not_found", Text: "Skill not found: " + skill}
}

// SkillNotPublic is the makers' refusal of a skill that stays at home.
func SkillNotPublic(skill string) Error {
	return Error{Status: 400, Code: "skill_not_public", Text: "Skill is not public: " + skill}
}

// What keys, seals and texts may fail with.
var (
	// ErrPassphrase: the passphrase is wrong.
	ErrPassphrase = errors.New("wrong passphrase")
	// ErrPassphraseNeeded: the key is encrypted and no passphrase was given.
	ErrPassphraseNeeded = errors.New("the key is encrypted: a passphrase is needed")
	// ErrBadKey: the text holds no usable key.
	ErrBadKey = errors.New("not a usable key")
	// ErrBadHash: neither 64 hex digits nor the prefixed form.
	ErrBadHash = errors.New("not a SHA-256 in hex")
	// ErrBadSignature: the signature does not fit.
	ErrBadSignature = errors.New("the signature does not fit")
	// ErrNoSkill: a text that would prove something if it were signed as a skill.
	ErrNoSkill = errors.New("this reads as a proof, not as a skill: it is not signed")
	// ErrPlainEmpty: there is nothing to seal.
	ErrPlainEmpty = errors.New("nothing to seal")
	// ErrPlainTooLarge: the sealed message would exceed the relay's limit.
	ErrPlainTooLarge = errors.New("too large to seal")
	// ErrDowngrade: the recipient was known to read envelope 2 and now seems not to.
	ErrDowngrade = errors.New("the recipient published envelope 2 before; refusing to fall back to envelope 1")
)
