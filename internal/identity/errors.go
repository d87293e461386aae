package identity

import "errors"

// Reason says why a credential was refused or why a live session ends. The
// words are stable: faces put them on the wire.
type Reason string

// The reasons.
const (
	// Malformed is not the form of a secret at all.
	Malformed Reason = "malformed"
	// Unknown has the right form but nobody was given it.
	Unknown Reason = "unknown_token"
	// Expired has outlived its time.
	Expired Reason = "expired"
	// Revoked was taken back.
	Revoked Reason = "revoked"
	// Used could be used once and was.
	Used Reason = "used"
	// SessionExpired ends a live session whose time is over.
	SessionExpired Reason = "session_expired"
)

// AuthError refuses a credential.
type AuthError struct {
	Reason Reason
	// TokenID is known unless the secret was malformed or unknown.
	TokenID string
}

func (e *AuthError) Error() string { return "credential refused: " + string(e.Reason) }

// Is makes every refusal match ErrRefused.
func (e *AuthError) Is(target error) bool { return target == ErrRefused }

// What the package's calls can answer besides failures of the store.
var (
	// ErrRefused matches every *AuthError.
	ErrRefused = errors.New("credential refused")
	// ErrNotFound answers for what does not exist and for what is not the caller's.
	ErrNotFound = errors.New("not found")
	// ErrForbidden says that the caller's scopes do not allow it.
	ErrForbidden = errors.New("not allowed")
	// ErrInvalid says that a request makes no sense; the wrapping text tells why.
	ErrInvalid = errors.New("invalid")
	// ErrNameTaken says that a person of that name exists.
	ErrNameTaken = errors.New("the name is taken")
	// ErrDeviceTaken says that the device is pinned to another person.
	ErrDeviceTaken = errors.New("the device belongs to somebody else")
)

// refused makes an AuthError.
func refused(reason Reason, tokenID string) error {
	return &AuthError{Reason: reason, TokenID: tokenID}
}

// ReasonOf is the reason of a refusal, or "" for any other error.
func ReasonOf(err error) Reason {
	if refusal, ok := errors.AsType[*AuthError](err); ok {
		return refusal.Reason
	}
	return ""
}
